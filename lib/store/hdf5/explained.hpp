#pragma once

#include "base/error.hpp"
#include "io/posix_file.hpp"

namespace ckpt::hdf5 {

/// Returns an error from HDF5 about an object, reworded to help the user if the object needs a newer HDF5; otherwise
/// unchanged.
Error explained(const Error& said, const PosixFile& source);

/// Does the same for an error from opening a file; it also recognises a file that was never closed, or that belongs to
/// a family of files.
Error explained_opening(const Error& said, const PosixFile& source);

}  // namespace ckpt::hdf5
