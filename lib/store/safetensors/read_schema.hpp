#pragma once

#include <memory>

#include "io/posix_file.hpp"
#include "store/catalog.hpp"
#include "tensor/box.hpp"

namespace ckpt::safetensors {

/// Keys of `__metadata__` in files that ckpt-reshard writes. Other entries are attributes of the whole file.
inline constexpr const char* layout_key = "ckpt_layout";
inline constexpr const char* manifest_key = "ckpt_manifest";
inline constexpr const char* attributes_key = "ckpt_attributes";        ///< JSON: all attributes except the root's
                                                                        ///< texts
inline constexpr const char* global_shapes_key = "ckpt_global_shapes";  ///< JSON: a shape for each tensor

/// Returns the length of the header that begins at this byte, as its first bytes declare it.
std::uint64_t header_bytes(const PosixFile& file, std::uint64_t begin = 0);

/// Returns whether a part of a file may have this format: it begins with a header's length and the start of a JSON
/// object.
bool is_safetensors(const PosixFile& file, Interval place);

/// Reads all metadata of such a part. Errors name the object, not the file.
std::shared_ptr<const Schema> read_schema(const PosixFile& file, Interval place);

}  // namespace ckpt::safetensors
