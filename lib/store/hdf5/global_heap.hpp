#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/lru.hpp"
#include "io/posix_file.hpp"
#include "store/hdf5/library.hpp"

namespace ckpt::hdf5 {

/// How much a text may take that is only visited, where values of variable length may take `value_bytes`: it is in
/// memory twice, as it lies in its file and as it goes into the new one.
constexpr std::uint64_t most_text_bytes(std::uint64_t value_bytes) noexcept {
  return value_bytes / 2;
}

/// The error of values of variable length that take more memory than `most_bytes`. `all_bytes`: what all files' take,
/// as far as that is known.
Error too_many_values(std::uint64_t most_bytes, std::uint64_t all_bytes);

/// The heap in which a file keeps variable-length parts. HDF5 trusts every size in it, and a hostile file makes it
/// write past its buffers or never return (at least up to 1.10.8). So this class reads the heap itself and checks every
/// number. Format: "III.E. Disk Format: Level 1E - Global Heap" of the HDF5 file format specification.
class GlobalHeap {
 public:
  /// `file` is the file of `id`, and must outlive the heap. `value_bytes`: how many bytes may be taken while
  /// `is_value`; `text_bytes`: by one text that is only visited.
  GlobalHeap(const PosixFile& file, std::uint64_t file_bytes, hid_t id, std::uint64_t value_bytes,
             std::uint64_t text_bytes);
  /// How a file writes numbers.
  struct Form {
    std::uint64_t user_block = 0;  ///< what addresses count from
    std::size_t address_bytes = 8;
    std::size_t length_bytes = 8;
  };
  /// For texts that are visited, in a file that HDF5 has not opened.
  GlobalHeap(const PosixFile& file, std::uint64_t file_bytes, const Form& form, std::uint64_t text_bytes);
  const PosixFile& file() const noexcept { return file_; }
  Form form() const noexcept { return {base_, address_size_, length_size_}; }

  /// Returns the size of a reference to a part, as a value stores it: a 32-bit count of elements, an address, a 32-bit
  /// index.
  std::size_t reference_size() const noexcept { return 8 + address_size_; }

  struct Part {
    std::uint64_t elements = 0;
    std::span<const std::byte> bytes;  ///< valid until the next call
    bool null = false;                 ///< the reference is null
  };
  Part resolve(const std::byte* reference);
  /// Returns the text that a reference leads to, valid until the next call; nothing if the reference is null.
  std::optional<std::string_view> text(const std::byte* reference);

  /// Deducts from a budget what is taken from the file: several names may refer to the same part or object.
  void spend(std::uint64_t bytes);
  /// Deducts what goes into a value.
  void take(std::uint64_t bytes);
  /// Counts a dataset's value that was spent already.
  void keep(std::uint64_t bytes);
  /// Whether values take more than is left for them. From then on they are counted, and not to be kept.
  bool is_over() const noexcept { return values_ > most_value_bytes_; }
  std::uint64_t values() const noexcept { return values_; }
  /// Texts are visited one after another from here on: refuses a collection of more than `text_bytes`.
  void set_is_visited(bool is_visited) noexcept { is_visited_ = is_visited; }
  /// Sets whether what follows belongs to a dataset's value, which stays in memory.
  void set_is_value(bool is_value) noexcept { is_value_ = is_value; }

 private:
  struct Collection {
    std::vector<std::byte> bytes;
    std::vector<std::uint32_t> places;  ///< of the objects' headers in it, in 8 bytes, by index of 16 bits; 0: none

    std::uint64_t memory() const noexcept { return bytes.size() + places.size() * sizeof(places.front()); }
  };

  const Collection& collection(std::uint64_t address);
  Collection load(std::uint64_t address);
  void make_room(std::uint64_t bytes);
  std::uint64_t object_header_size() const noexcept { return (8 + length_size_ + 7) / 8 * 8; }

  const PosixFile& file_;
  std::uint64_t file_bytes_;
  std::uint64_t base_ = 0;  ///< the user block: addresses count from here
  std::size_t address_size_ = 0;
  std::size_t length_size_ = 0;
  std::uint64_t budget_;
  std::uint64_t most_value_bytes_;
  std::uint64_t most_text_bytes_;
  std::uint64_t values_ = 0;  ///< bytes of all so far
  bool is_value_ = false;
  bool is_visited_ = false;
  Lru<std::uint64_t, Collection> collections_;  // by address; cost: their memory
};

}  // namespace ckpt::hdf5
