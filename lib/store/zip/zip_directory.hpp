#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt::torch {

struct ZipEntry {
  std::string name;
  Interval place;         ///< place of its bytes in the file
  std::uint32_t crc = 0;  ///< CRC-32 of its bytes; 0: the writer did not store it, or it is 0
  /// How many bytes it has when it is inflated; nothing: it is stored as it is.
  std::optional<std::uint64_t> inflated_bytes = {};
};

/// Whether entries may be compressed, by the method that is called deflate.
enum class Deflated { refused, taken };

/// Returns the name of the first entry of a zip archive; empty if the file does not begin with an entry.
std::string first_entry(const PosixFile& file, std::uint64_t file_bytes);

/// Returns the entries of the zip archive in the part `archive` of the file, sorted by name; their places do not
/// overlap. Sizes come from the directory at its end, with 64 bits if necessary; places come from the entries' own
/// headers. Throws input for entries that are encrypted or compressed (unless that is taken), share a name, or lie
/// anywhere else.
/// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3
std::vector<ZipEntry> zip_directory(const PosixFile& file, Interval archive, Deflated deflated = Deflated::refused);

}  // namespace ckpt::torch
