#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/hdf5/library.hpp"
#include "tensor/box.hpp"

namespace ckpt::hdf5 {

/// A file that HDF5 makes in memory: its metadata as bytes, its data only as places. The caller assigns these, all in
/// one part of the file where HDF5 allocates nothing else: so no metadata can lie between data, and HDF5 has no free
/// space to search. Use it under Lock.
class FileImage {
 public:
  /// `data`: the part of the file that is reserved for data. HDF5's superblock lies before it. `expected_bytes`: an
  /// estimate of the bytes that are not data; they may exceed it.
  FileImage(Interval data, std::uint64_t expected_bytes) : data_(data) { bytes_.reserve(expected_bytes); }

  /// Makes a file that is created with these access properties become this image. Close the file before the image is
  /// destroyed.
  void attach_to(hid_t access);

  /// Sets where the next data that HDF5 allocates goes. Without a place, it goes to the metadata.
  void place_next(Interval place) { next_ = place; }
  /// Ignores what HDF5 writes to the next data: zeros, for what is referred to later.
  void place_zeros_next(Interval place) { next_ = zeros_ = place; }

  /// Returns the bytes around the data, concatenated.
  std::string take_bytes();
  std::uint64_t file_bytes() const noexcept { return end_; }

  /// Returns where raw data in the metadata begins; HDF5 treats collections of the global heap as raw data, too.
  const std::vector<std::uint64_t>& raw() const noexcept { return raw_; }

 private:
  friend struct ImageDriver;

  haddr_t allocate(H5FD_mem_t kind, hsize_t bytes);
  std::size_t index_of(haddr_t address, std::size_t bytes) const;

  Interval data_;
  Interval next_;
  Interval zeros_;
  std::vector<std::uint64_t> raw_;
  std::uint64_t end_ = 0;  ///< end of the file, as allocated to HDF5
  std::string bytes_;
};

}  // namespace ckpt::hdf5
