#pragma once

#include <cstdint>
#include <vector>

#include "store/store.hpp"

namespace ckpt::hdf5 {

struct MadeFile {
  NewFile file;                    ///< a passage before all data, and one behind it
  std::vector<std::uint64_t> raw;  ///< where raw data behind it begins: verbatim values, collections of the global heap
};

/// Makes a file in memory through HDF5.
MadeFile make_file(const FileSpec& spec);

}  // namespace ckpt::hdf5
