#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"

/// The sorted tables of LevelDB, without its internal keys: a bundle's index is one.
/// https://github.com/google/leveldb, doc/table_format.md; tensorflow/core/lib/io/table.h
namespace ckpt::tensorflow {

/// The last bytes of every table.
inline constexpr std::string_view table_end = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

bool ends_as_table(const PosixFile& file, std::uint64_t file_bytes);

/// A CRC-32C as these files store it, and back.
std::uint32_t masked(std::uint32_t crc) noexcept;
std::uint32_t unmasked(std::uint32_t stored) noexcept;

/// Calls visit(key, value) for each entry, in the ascending order of keys. Compares the checksum of each block, and
/// reads one at a time. Throws input if the file is no table, is damaged, or has keys out of order.
void for_each_entry(const PosixFile& file, std::uint64_t file_bytes,
                    const std::function<void(std::string_view key, std::string_view value)>& visit);

/// Returns a table with these entries.
std::string table_of(const std::map<std::string, std::string>& entries);

}  // namespace ckpt::tensorflow
