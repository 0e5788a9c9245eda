#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/hdf5/library.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

/// Opens a file for reading. Throws input for what is no HDF5 file.
FileId open_file(const std::string& path);

struct SchemaReading {
  std::shared_ptr<const Schema> schema;
  std::vector<std::string> left_out;    ///< attributes that are not in the schema: "ATTRIBUTE of /OBJECT"
  std::vector<std::string> no_tensors;  ///< objects that are not in the schema: "/OBJECT (WHAT IT IS)"
  bool is_whole = true;                 ///< false: ended where more links were found than were asked for
};

/// How much of a file is to be read.
struct Share {
  /// One of `count` parts of about the same size, which together are the file. What lies near the root is walked for
  /// every part and given with the first.
  std::uint64_t part = 0;
  std::uint64_t count = 1;
  std::uint64_t most_links = std::numeric_limits<std::uint64_t>::max();        ///< names of objects
  std::uint64_t most_value_bytes = std::numeric_limits<std::uint64_t>::max();  ///< of values of variable length
};

/// Walks a file's metadata. `file_bytes` bounds what it may declare. Errors name the object, not the file. Logs nothing
/// itself: it may run in a child process.
SchemaReading read_schema(const Lock& lock, const PosixFile& source, std::uint64_t file_bytes, const Share& share = {});

/// What all parts of a file say, in order, as if it had been read at once.
SchemaReading joined(const std::vector<SchemaReading>& parts);

}  // namespace ckpt::hdf5
