#pragma once

#include "base/error.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

/// What HDF5 said of an object, in words that lead on where it is a form of a newer HDF5 than this one; else as it was.
Error explained(const Error& said, const PosixFile& source);

/// What HDF5 said when it opened a file: also one that was never closed, or is a part of a family of files.
Error explained_opening(const Error& said, const PosixFile& source);

}  // namespace ckpt::hdf5
