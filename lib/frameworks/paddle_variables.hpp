#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Recognises a directory as paddle.static.save_vars and fleet's save_persistables write it: each variable in a file
/// that has its name, with folders for the parts of a name between slashes; or the variables of a program in one file.
bool is_paddle_variables(const std::filesystem::path& directory);

/// Describes such a directory. Throws input if a file is damaged.
DirectoryDescription describe_paddle_variables(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
