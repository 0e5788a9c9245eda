#pragma once

#include <filesystem>

#include "frameworks/described.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory is a tag of a DeepSpeed job (`global_step1000`), or holds a file `latest` that names one.
bool is_deepspeed(const std::filesystem::path& directory);

/// What its model states say of the optimizer's files beside them: `deepspeed::zero_layout`. For other cards the same
/// files, in a folder of the tag's name. Throws input for what is incomplete or contradicts itself, and as
/// deepspeed::find_tag.
Described describe_deepspeed(const std::filesystem::path& directory, SourceStore& store);

/// The same of several model ranks that have cut the weights as a layout says (deepspeed::module_layout), ZeRO-1 and 2.
/// Throws input where the files say other numbers of ranks than it does, or parameters of one model rank only.
Described describe_deepspeed_of(const std::filesystem::path& directory, const Layout& weights, SourceStore& store);

}  // namespace ckpt
