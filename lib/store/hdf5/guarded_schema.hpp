#pragma once

#include <functional>

#include "io/posix_file.hpp"
#include "store/hdf5/read_schema.hpp"

namespace ckpt::hdf5 {

/// Runs read_schema in a child process: HDF5 trusts much of what it finds in a file, and a damaged file makes it crash,
/// loop or take all memory. Logs the warnings about the file. Errors name the object, not the file.
/// `files_after`: of Share; asked only where values are refused, and then what they say is made anew.
SchemaReading read_schema_guarded(const PosixFile& source, std::uint64_t file_bytes, Share whole,
                                  const std::function<std::uint64_t()>& files_after);

}  // namespace ckpt::hdf5
