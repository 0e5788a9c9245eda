#pragma once

#include <filesystem>
#include <string>

#include "frameworks/directory_description.hpp"

namespace ckpt {

/// The file in which Megatron and MindFormers name the newest iteration of a run.
inline constexpr const char* latest_iteration_file = "latest_checkpointed_iteration.txt";

/// Returns the folder of the iteration that this file names, `prefix` and at least `digits` digits; empty if it names
/// none.
std::string latest_iteration(const std::filesystem::path& directory, const std::string& prefix, std::size_t digits);

/// Returns a run's description from that of one of its folders.
DirectoryDescription described_in(const std::string& folder, DirectoryDescription described);

}  // namespace ckpt
