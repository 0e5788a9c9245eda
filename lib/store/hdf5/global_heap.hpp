#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "store/hdf5/library.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

/// Says that values of variable length would take more memory than so many bytes, all that is left for them.
[[noreturn]] void refuse_values(std::uint64_t most_bytes);

/// Where a file keeps variable-length parts. HDF5 believes every size that stands there, and a hostile file makes it
/// write past its buffers or never end (at least up to 1.10.8), so the heap is read here, and every number in it is
/// checked. Format: "III.E. Disk Format: Level 1E - Global Heap" of the HDF5 file format specification.
class GlobalHeap {
 public:
  /// `file` is the same as `id`, and must outlive the heap. `value_bytes`: as many may be taken while `is_value`.
  GlobalHeap(const PosixFile& file, std::uint64_t file_bytes, hid_t id, std::uint64_t value_bytes);

  /// Bytes of a reference to a part, as it is stored in a value: a 32-bit count of elements, address, 32-bit index.
  std::size_t reference_size() const noexcept { return 8 + address_size_; }

  struct Part {
    std::uint64_t elements = 0;
    std::span<const std::byte> bytes;  ///< until the next call
    bool null = false;                 ///< there is none
  };
  Part resolve(const std::byte* reference);

  /// Everything that is taken from the file is taken off a budget: parts and objects may have many names.
  void spend(std::uint64_t bytes);
  /// The same of what goes into a value. Throws input where a dataset's would take more than is left for them.
  void take(std::uint64_t bytes);
  /// Whether what is taken from here on is a dataset's value, which stays in memory.
  void set_is_value(bool is_value) noexcept { is_value_ = is_value; }

 private:
  struct Object {
    std::uint64_t offset;
    std::uint64_t size;
  };
  struct Collection {
    std::vector<std::byte> bytes;
    std::map<std::uint32_t, Object> objects;
  };

  const Collection& collection(std::uint64_t address);
  Collection load(std::uint64_t address);
  std::uint64_t object_header_size() const noexcept { return (8 + length_size_ + 7) / 8 * 8; }

  const PosixFile& file_;
  std::uint64_t file_bytes_;
  std::uint64_t base_ = 0;  ///< addresses count from here: the user block
  std::size_t address_size_ = 0;
  std::size_t length_size_ = 0;
  std::uint64_t budget_;
  std::uint64_t most_value_bytes_;
  std::uint64_t value_bytes_left_;
  bool is_value_ = false;
  std::map<std::uint64_t, Collection> collections_;
  std::uint64_t cached_ = 0;
};

}  // namespace ckpt::hdf5
