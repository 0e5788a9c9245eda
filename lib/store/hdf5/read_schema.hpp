#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "store/catalog.hpp"
#include "store/hdf5/library.hpp"

namespace ckpt::hdf5 {

/// Opens a file for reading. Throws input if it is not an HDF5 file.
FileId open_file(const std::string& path);

struct SchemaReading {
  std::shared_ptr<const Schema> schema;
  std::vector<std::string> left_out;    ///< attributes missing from the schema: "ATTRIBUTE of /OBJECT"
  std::vector<std::string> no_tensors;  ///< objects missing from the schema: "/OBJECT (WHAT IT IS)"
  bool is_whole = true;                 ///< false: stopped because there were more links than `most_links`
  std::uint64_t values = 0;             ///< bytes of values of variable length, also of those that are refused
};

/// How much of a file to read.
struct Share {
  /// One of `count` parts of about the same size, which together make up the file. Every part walks the objects near
  /// the root; only the first part returns them.
  std::uint64_t part = 0;
  std::uint64_t count = 1;
  std::uint64_t most_links = std::numeric_limits<std::uint64_t>::max();        ///< limit on names of objects
  std::uint64_t most_value_bytes = std::numeric_limits<std::uint64_t>::max();  ///< limit on values of variable length
  std::uint64_t values_before = 0;  ///< those of other files, which are not to exceed it together
  /// What a limit would have to be for all files, as the error says: that of the files before, and how many more there
  /// may be.
  std::uint64_t wanted_before = 0;
  std::uint64_t files_after = 0;
};

/// Walks a file's metadata. `file_bytes` bounds the sizes that it may declare. Errors name the object, not the file.
/// Logs nothing, since it may run in a child process.
SchemaReading read_schema(const Lock& lock, const PosixFile& source, std::uint64_t file_bytes, const Share& share = {});

/// Joins the readings of all parts of a file, in order, into that of the whole file.
SchemaReading joined(const std::vector<SchemaReading>& parts);

}  // namespace ckpt::hdf5
