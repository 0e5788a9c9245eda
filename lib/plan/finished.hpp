#pragma once

#include <map>
#include <utility>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Runs of elements of target arrays that are written already: ascending and disjoint.
class Finished {
 public:
  /// Adds a run; false, without adding it, where a part of it is in already.
  bool add(Position card, ArrayId array, Interval elements);
  /// What of a run is not finished, in order.
  std::vector<Interval> rest(Position card, ArrayId array, Interval elements) const;
  bool empty() const noexcept { return runs_.empty(); }

 private:
  std::map<std::pair<Position, ArrayId>, std::map<std::uint64_t, std::uint64_t>> runs_;  // lo → hi
};

}  // namespace ckpt
