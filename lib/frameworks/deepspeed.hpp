#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory is a tag of a DeepSpeed job (`global_step1000`), or holds a file `latest` that names one.
bool is_deepspeed(const std::filesystem::path& directory);

/// Describes the optimizer's files from the model states beside them: `deepspeed::zero_layout`. Other cards get the
/// same files, in a folder with the tag's name. Throws input if anything is incomplete or contradicts itself, and as
/// deepspeed::find_tag does.
DirectoryDescription describe_deepspeed(const std::filesystem::path& directory, SourceStore& store);

/// As describe_deepspeed, for several model ranks that cut the weights as a layout says (deepspeed::module_layout),
/// ZeRO-1 and 2. Throws input if the files have other numbers of ranks, or parameters that only one model rank has.
DirectoryDescription describe_deepspeed_of(const std::filesystem::path& directory, const Layout& weights,
                                           SourceStore& store);

}  // namespace ckpt
