#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Recognises a directory of torch_checkpointing whose ranks' files are safetensors, which hold local tensors alone:
/// metadata.pkl says how they are cut. (Its .pt files describe themselves: rank_files.)
bool is_torch_checkpointing(const std::filesystem::path& directory);

/// Describes such a directory. Throws input if a file is missing, or is not as the metadata say.
DirectoryDescription describe_torch_checkpointing(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
