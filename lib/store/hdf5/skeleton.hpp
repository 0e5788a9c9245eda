#pragma once

#include <filesystem>

#include "store/store.hpp"

namespace ckpt::hdf5 {

/// A file's data lies at multiples of this.
inline constexpr std::uint64_t data_alignment = 4096;

/// Whether data of this array is written by offset.
bool has_room(const FileSpec::Array& array);

struct NewFile {
  FileRoom room;
  std::uint64_t metadata_bytes =
      0;  ///< the file's length before room for data was added: all metadata lies in that part
};

/// Makes a new file through HDF5, its data allocated and unwritten.
NewFile make_file(const std::filesystem::path& path, const FileSpec& spec);

}  // namespace ckpt::hdf5
