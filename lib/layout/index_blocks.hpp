#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// Where the numbers 0..total-1 that an index counts lie on the coordinates of its axis, and what they are called
/// there.
class IndexBlocks {
 public:
  /// A coordinate, and the number among those that it holds.
  struct Place {
    std::uint64_t coordinate;
    std::uint64_t local;
  };

  IndexBlocks(const IndexRule& rule, std::uint64_t coordinates);

  /// How many numbers a coordinate holds.
  std::uint64_t size(std::uint64_t coordinate) const;
  /// The number that a coordinate calls `local`, which is below its size.
  std::uint64_t global(const Place& place) const;
  /// Where a number below the total lies.
  Place place(std::uint64_t global) const;

 private:
  std::vector<std::uint64_t> starts_;  ///< uneven blocks: the first number of each, and the total
  std::uint64_t coordinates_ = 1;
  std::uint64_t chunks_ = 1;
  std::uint64_t each_ = 1;  ///< even blocks: numbers of a coordinate in each chunk
};

}  // namespace ckpt
