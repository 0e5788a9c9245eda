#pragma once

#include <memory>

#include "io/posix_file.hpp"
#include "store/catalog.hpp"

namespace ckpt::mindspore {

inline constexpr const char* format_name = "mindspore";

/// Reads everything in a file except its data. A `str` becomes an array whose value is in the catalog; a hash table
/// becomes an array of bytes of a type that nothing can write. Throws input: errors name the object, not the file.
std::shared_ptr<const Schema> read_schema(const PosixFile& file, std::uint64_t file_bytes);

/// Compares a file with the CRC at its end, if it has one, and no hash table: MindSpore leaves these out of the CRC.
/// Reads the whole file. Throws input if they differ.
void check_crc(const PosixFile& file, std::uint64_t file_bytes, const Schema& schema);

}  // namespace ckpt::mindspore
