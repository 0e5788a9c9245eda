#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/hdf5/library.hpp"
#include "tensor/box.hpp"

namespace ckpt::hdf5 {

/// A file that HDF5 makes in memory: its metadata as bytes, of its data nothing but the places. These are given to it,
/// all in one part of the file where HDF5 gets room for nothing else: so no metadata can lie between data, and HDF5
/// has no free space to search. Used under Lock.
class FileImage {
 public:
  /// `data`: the part of the file that is kept for data. What comes before it is for HDF5's superblock.
  /// `expected_bytes`: about so many will not be data; more are possible.
  FileImage(Interval data, std::uint64_t expected_bytes) : data_(data) { bytes_.reserve(expected_bytes); }

  /// With these access properties, a file that is created becomes this one. It must be closed before this one goes.
  void attach_to(hid_t access);

  /// Where the next data goes that HDF5 allocates. Without one, it goes to the metadata.
  void place_next(Interval place) { next_ = place; }

  /// The bytes around the data, end to end.
  std::string take_bytes();
  std::uint64_t file_bytes() const noexcept { return end_; }

  /// Where raw data begins that went to the metadata: collections of the global heap, which HDF5 takes for such, too.
  const std::vector<std::uint64_t>& raw() const noexcept { return raw_; }

 private:
  friend struct ImageDriver;

  haddr_t allocate(H5FD_mem_t kind, hsize_t bytes);
  std::size_t index_of(haddr_t address, std::size_t bytes) const;

  Interval data_;
  Interval next_;
  std::vector<std::uint64_t> raw_;
  std::uint64_t end_ = 0;  ///< of the file, as it has been given to HDF5
  std::string bytes_;
};

}  // namespace ckpt::hdf5
