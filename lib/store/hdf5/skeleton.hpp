#pragma once

#include "store/store.hpp"

namespace ckpt::hdf5 {

/// Makes a file in memory through HDF5: a passage before all data, and one behind it.
NewFile make_file(const FileSpec& spec);

}  // namespace ckpt::hdf5
