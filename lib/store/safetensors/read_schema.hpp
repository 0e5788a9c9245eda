#pragma once

#include <memory>

#include "store/catalog.hpp"
#include "store/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt::safetensors {

/// `__metadata__` of files that these programs write. Other entries are attributes of the whole file.
inline constexpr const char* layout_key = "ckpt_layout";
inline constexpr const char* manifest_key = "ckpt_manifest";
inline constexpr const char* attributes_key = "ckpt_attributes";        ///< JSON, those that are no texts of the root
inline constexpr const char* global_shapes_key = "ckpt_global_shapes";  ///< JSON, a shape for each tensor

/// The length of a header that begins at this byte, as the first bytes there say.
std::uint64_t header_bytes(const PosixFile& file, std::uint64_t begin = 0);

/// Whether a place of a file, or all of it, may be of this format: a header's length and the start of a JSON object.
bool is_safetensors(const PosixFile& file, Interval place);

/// The whole metadata of such a place. Errors name the object, not the file.
std::shared_ptr<const Schema> read_schema(const PosixFile& file, Interval place);

}  // namespace ckpt::safetensors
