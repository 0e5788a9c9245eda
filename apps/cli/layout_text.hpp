#pragma once

#include <filesystem>
#include <string>

#include "jobs/reshard.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// The layout that a file (or, for "-", standard input) holds: JSON, or a strategy of MindSpore, as its content tells;
/// of a directory, the layout that all strategies in it are together. Where a strategy does not tell how many
/// dimensions a parameter has, `checkpoint` does, if it is not empty. Process 0 reads for all: standard input reaches
/// no other, and a file may lie on its node alone. Collective; throws layout, the same on every process.
Layout read_layout(const std::string& file, const std::filesystem::path& checkpoint, Communicator& processes);

}  // namespace ckpt::cli
