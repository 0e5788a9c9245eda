#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether DeepSpeed's ds_to_universal made a directory: it has `zero/`, with a folder for each parameter.
bool is_universal(const std::filesystem::path& directory);

/// Describes such a directory. Each file is a card that holds one tensor whole: `w` is zero/w/fp32.pt, and `exp_avg/w`
/// is zero/w/exp_avg.pt. Throws input for a folder without fp32.pt, and for files of another form.
DirectoryDescription describe_universal(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
