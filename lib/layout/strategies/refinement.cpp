#include "layout/strategies/refinement.hpp"

#include <iterator>
#include <utility>

namespace ckpt::strategy {

bool Refinement::take(const Spans& spans) {
  std::set<std::uint64_t> bounds = bounds_;
  for (const auto& of_dim : spans)
    for (const Span& span : of_dim) bounds.insert({span.lo, span.hi});
  for (auto it = bounds.begin(); std::next(it) != bounds.end(); ++it)
    if (*std::next(it) % *it != 0) return false;
  bounds_ = std::move(bounds);
  return true;
}

std::vector<Span> Refinement::axes() const {
  std::vector<Span> axes;
  for (auto it = bounds_.begin(); std::next(it) != bounds_.end(); ++it)
    axes.insert(axes.begin(), {*it, *std::next(it)});
  return axes;
}

}  // namespace ckpt::strategy
