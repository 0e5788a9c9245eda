#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/language/layout.hpp"

namespace ckpt {

/// How the indices 0..total-1 that an entry of `indices` counts are distributed over the coordinates of its axis, and
/// how stored names number them there. Several axes act as one, with coordinates numbered major first.
class IndexBlocks {
 public:
  /// The numbers in a stored name on a card at a coordinate.
  struct StoredNumbers {
    std::uint64_t coordinate = 0;
    std::uint64_t number = 0;  ///< `{i}`
    std::uint64_t chunk = 0;   ///< `{chunk}`, if numbers restart in each chunk

    friend auto operator<=>(const StoredNumbers&, const StoredNumbers&) = default;
  };

  /// `total` must be a multiple of coordinates × virtual chunks, unless the entry has counts.
  IndexBlocks(const IndexRule& rule, std::uint64_t coordinates, std::uint64_t total);

  std::uint64_t total() const noexcept { return total_; }
  /// Returns the number of indices that a coordinate holds.
  std::uint64_t size(std::uint64_t coordinate) const;
  /// Names on a coordinate may contain the numbers [first, end).
  std::uint64_t end(std::uint64_t coordinate) const;
  /// Returns the index with these numbers; nothing beyond the coordinate's block.
  std::optional<std::uint64_t> index(const StoredNumbers& called) const;
  /// Returns the coordinate of an index below the total, and its numbers there.
  StoredNumbers called(std::uint64_t index) const;

 private:
  bool is_local_;
  bool restarts_;
  std::uint64_t first_;
  std::uint64_t total_;
  std::vector<std::uint64_t> starts_;  ///< uneven blocks: the first index of each, and the total
  std::uint64_t coordinates_;
  std::uint64_t chunks_;
  std::uint64_t each_ = 0;  ///< even blocks: indices of a coordinate in each chunk
};

}  // namespace ckpt
