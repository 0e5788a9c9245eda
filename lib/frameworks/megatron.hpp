#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory holds a Megatron job's checkpoints and its latest_checkpointed_iteration.txt names one in the
/// form torch_dist.
bool is_megatron_run(const std::filesystem::path& directory);

/// Describes the checkpoint that the text file names, as describe_dcp. Throws input.
DirectoryDescription describe_megatron_run(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
