#pragma once

#include <filesystem>
#include <optional>

#include "frameworks/described.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory has metadata of its own that `describe` reads, by its files' names: told at once; and whether
/// its files can be read without, by a layout. A new framework is a file beside this one, and a line in describe.cpp.
bool is_described(const std::filesystem::path& directory);
bool has_plain_files(const std::filesystem::path& directory);

/// Whether `complete` makes this layout the directory's: it names no files, and the directory's metadata say all but
/// what it says.
bool is_completed(const std::filesystem::path& directory, const Layout& given);

/// What a directory's own metadata says of all its files; nothing where it has none. Throws input for what is
/// unfinished or contradicts itself.
std::optional<Described> describe(const std::filesystem::path& directory, SourceStore& store);

/// The same with a layout that `is_completed`. Throws layout for one that says what it must not.
Described complete(const std::filesystem::path& directory, const Layout& given, SourceStore& store);

}  // namespace ckpt
