#pragma once

#include <string>

#include "io/posix_file.hpp"
#include "store/catalog.hpp"
#include "store/store.hpp"

/// Files of paddle.save: pickles of NumPy's arrays.
namespace ckpt::pdparams {

/// The name in Schema::format.
inline constexpr const char* format_name = "paddle";

/// Names under which a pickle has what ckpt-reshard adds: values that are dropped again while it is read.
inline constexpr const char* layout_name = "ckpt_layout";
inline constexpr const char* manifest_name = "ckpt_manifest";
inline constexpr const char* global_shapes_name = "ckpt_global_shapes";  ///< JSON: a shape for each tensor

/// Returns whether Paddle gives its own files such a name. The name decides whether u16 means bf16.
bool is_named_by_paddle(const std::filesystem::path& path);

/// Returns whether paddle.save may have written a file: a pickle that has a name of Paddle's, or arrays near its start.
bool is_paddle_file(const PosixFile& file, std::uint64_t file_bytes);

/// Reads a file's metadata. Throws input; errors name the object, not the file.
Schema read_schema(const PosixFile& file, std::uint64_t file_bytes);

/// Returns the tree of a file (SourceStore::tree), as torch's files have it.
std::string read_tree_of(const PosixFile& file, std::uint64_t file_bytes);

/// Opens a file for reading: datasets of Storage::filtered are texts of protocol 2.
std::unique_ptr<SourceFile> open_paddle_file(const std::filesystem::path& file, const FileCatalog& catalog);

}  // namespace ckpt::pdparams
