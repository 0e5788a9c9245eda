#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The file that Megatron's torch_dist writes last.
inline constexpr const char* torch_dist_finished = "metadata.json";

/// Whether torch.distributed.checkpoint (FSDP2, torchtitan, Megatron's torch_dist) wrote a directory, finished or not.
bool is_dcp(const std::filesystem::path& directory);
/// Whether what is written last is missing in one.
bool is_unfinished_dcp(const std::filesystem::path& directory);

/// Describes a directory from its `.metadata`: each file is a card, or several if it holds several chunks of one
/// tensor. Numbers and texts among the objects, and those in Megatron's common.pt, become attributes. Throws input if
/// the directory is unfinished or contradicts itself.
DirectoryDescription describe_dcp(const std::filesystem::path& directory, SourceStore& store);

/// The names of the files that Megatron keeps beside a layout's files: for unsharded values, and for the form. Empty
/// unless the layout's files are those of a DCP directory.
std::vector<std::string> dcp_sidecar_names(const Layout& layout);

}  // namespace ckpt
