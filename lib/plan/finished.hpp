#pragma once

#include <map>
#include <utility>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Runs of elements of target arrays that have been written: ascending and disjoint.
class Finished {
 public:
  /// Adds a run; returns false, without adding it, if any part of it is included already.
  bool add(Position card, ArrayId array, Interval elements);
  /// Returns the unfinished parts of a run, in order.
  std::vector<Interval> rest(Position card, ArrayId array, Interval elements) const;
  bool empty() const noexcept { return runs_.empty(); }

 private:
  std::map<std::pair<Position, ArrayId>, std::map<std::uint64_t, std::uint64_t>> runs_;  // lo → hi
};

}  // namespace ckpt
