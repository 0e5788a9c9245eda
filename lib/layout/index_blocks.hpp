#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// Where the indices 0..total-1 that an entry of `indices` counts lie on the coordinates of its axis, and what stored
/// names call them there. Several axes are one, whose coordinates are numbered major first.
class IndexBlocks {
 public:
  /// What a stored name on a card at a coordinate says.
  struct Called {
    std::uint64_t coordinate = 0;
    std::uint64_t number = 0;  ///< `{i}`
    std::uint64_t chunk = 0;   ///< `{chunk}`, where numbers restart in each

    friend auto operator<=>(const Called&, const Called&) = default;
  };

  /// `total` is a multiple of coordinates × virtual chunks, where the entry has no counts.
  IndexBlocks(const IndexRule& rule, std::uint64_t coordinates, std::uint64_t total);

  std::uint64_t total() const noexcept { return total_; }
  /// How many indices a coordinate holds.
  std::uint64_t size(std::uint64_t coordinate) const;
  /// The numbers that names on a coordinate may carry are [first, end).
  std::uint64_t end(std::uint64_t coordinate) const;
  /// The index that is called so; nothing beyond the coordinate's block.
  std::optional<std::uint64_t> index(const Called& called) const;
  /// What an index below the total is called, and on which coordinate.
  Called called(std::uint64_t index) const;

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
