#pragma once

#include <string>
#include <vector>

#include "store/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt::torch {

struct ZipEntry {
  std::string name;
  Interval place;         ///< of its bytes in the file
  std::uint32_t crc = 0;  ///< CRC-32 of these; 0: the writer has not told, or it is that
};

/// The name of the entry that a zip archive begins with; empty where the file begins with none.
std::string first_entry(const PosixFile& file, std::uint64_t file_bytes);

/// The entries of a zip archive that `archive`, a part of the file, is: sorted by name, in places that do not overlap.
/// Sizes are those of the directory at its end, with 64 bits where they need them; places those of the entries' own
/// headers. Throws input for entries that are compressed or encrypted, have one name, or lie anywhere else.
/// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3
std::vector<ZipEntry> zip_directory(const PosixFile& file, Interval archive);

}  // namespace ckpt::torch
