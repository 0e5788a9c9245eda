#pragma once

#include <memory>

#include "store/catalog.hpp"
#include "store/posix_file.hpp"

namespace ckpt::safetensors {

/// `__metadata__` of files that these programs write. Other entries are attributes of the whole file.
inline constexpr const char* layout_key = "ckpt_layout";
inline constexpr const char* manifest_key = "ckpt_manifest";
inline constexpr const char* attributes_key = "ckpt_attributes";        ///< JSON, those that are no texts of the root
inline constexpr const char* global_shapes_key = "ckpt_global_shapes";  ///< JSON, a shape for each tensor

/// The length of a file's header, as its first bytes say.
std::uint64_t header_bytes(const PosixFile& file);

/// Whether a file may be one of this format: a header's length and the start of a JSON object.
bool is_safetensors(const PosixFile& file, std::uint64_t file_bytes);

/// The whole metadata of a file. Errors name the object, not the file.
std::shared_ptr<const Schema> read_schema(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::safetensors
