#pragma once

#include <memory>

#include "io/posix_file.hpp"
#include "store/catalog.hpp"

namespace ckpt::hdf5 {

/// Runs read_schema in a child process: HDF5 trusts much of what it finds in a file, and a damaged file makes it crash,
/// loop or take all memory. Logs the warnings about the file. Errors name the object, not the file.
std::shared_ptr<const Schema> read_schema_guarded(const PosixFile& source, std::uint64_t file_bytes,
                                                  std::uint64_t most_value_bytes, std::uint64_t values_before);

}  // namespace ckpt::hdf5
