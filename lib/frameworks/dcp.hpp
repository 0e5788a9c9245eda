#pragma once

#include <filesystem>

#include "frameworks/described.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Of Megatron's torch_dist: what is written last.
inline constexpr const char* torch_dist_finished = "metadata.json";

/// Whether a directory is one of torch.distributed.checkpoint (FSDP2, torchtitan, Megatron's torch_dist), finished or
/// not.
bool is_dcp(const std::filesystem::path& directory);

/// What its `.metadata` says: each file is a card, or several where it holds several chunks of one tensor. Objects that
/// are numbers or texts, and those of Megatron's common.pt, become attributes. Throws input for a directory that is
/// unfinished or contradicts itself.
Described describe_dcp(const std::filesystem::path& directory, SourceStore& store);

/// The names of the files that Megatron has beside those of a layout: of what is not sharded, and of the form. None
/// where the layout's files are not of a DCP directory.
std::vector<std::string> dcp_names_beside(const Layout& layout);

}  // namespace ckpt
