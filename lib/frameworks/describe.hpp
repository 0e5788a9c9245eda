#pragma once

#include <filesystem>
#include <optional>

#include "frameworks/described.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory has metadata of its own that `describe` reads, by its files' names: told at once. Where a layout
/// is known, only what the files cannot be read without counts. A new framework is a file beside this one, and a line
/// in describe.cpp.
bool is_described(const std::filesystem::path& directory, bool has_layout);

/// What a directory's own metadata says of all its files; nothing where it has none. Throws input for what is
/// unfinished or contradicts itself.
std::optional<Described> describe(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
