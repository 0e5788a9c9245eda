#include "plan/finished.hpp"

#include <algorithm>

namespace ckpt {

bool Finished::add(Position card, ArrayId array, Interval elements) {
  auto& runs = runs_[{card, array}];
  const auto next = runs.lower_bound(elements.lo);
  if (next != runs.end() && next->first < elements.hi) return false;
  if (next != runs.begin() && std::prev(next)->second > elements.lo) return false;
  runs.emplace_hint(next, elements.lo, elements.hi);
  return true;
}

std::vector<Interval> Finished::rest(Position card, ArrayId array, Interval elements) const {
  const auto found = runs_.find({card, array});
  if (found == runs_.end()) return {elements};
  const auto& runs = found->second;
  std::vector<Interval> rest;
  auto run = runs.upper_bound(elements.lo);
  if (run != runs.begin()) --run;
  for (; run != runs.end() && run->first < elements.hi; ++run) {
    if (run->first > elements.lo) rest.push_back({elements.lo, run->first});
    elements.lo = std::max(elements.lo, run->second);
  }
  if (elements.lo < elements.hi) rest.push_back(elements);
  return rest;
}

}  // namespace ckpt
