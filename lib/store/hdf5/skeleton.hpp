#pragma once

#include <cstdint>
#include <vector>

#include "store/store.hpp"

namespace ckpt::hdf5 {

struct MadeFile {
  NewFile file;                    ///< one passage before all data, and one after it
  std::vector<std::uint64_t> raw;  ///< where raw data in the second passage begins: verbatim values, collections of the
                                   ///< global heap
};

/// Makes a file in memory through HDF5. `text_bytes`: most_text_bytes.
MadeFile make_file(const FileSpec& spec, std::uint64_t text_bytes);

}  // namespace ckpt::hdf5
