#pragma once

#include <filesystem>

#include "store/store.hpp"
#include "tensor/box.hpp"

namespace ckpt::hdf5 {

/// A new file without its data: its bytes are `metadata` around `data`.
struct NewFile {
  FileRoom room;
  Interval data;                    ///< the part of the file in which all data lies, and nothing else
  std::vector<std::byte> metadata;  ///< [0, data.lo) and [data.hi, room.bytes), end to end
};

/// Makes a file in memory through HDF5. `path` is what errors call it.
NewFile make_file(const std::filesystem::path& path, const FileSpec& spec);

}  // namespace ckpt::hdf5
