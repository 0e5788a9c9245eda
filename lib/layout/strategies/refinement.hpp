#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "layout/strategies/strategy.hpp"

namespace ckpt::strategy {

/// The inner axes of a mesh that express all spans taken so far: boundaries that divide one another.
class Refinement {
 public:
  explicit Refinement(std::uint64_t devices) : bounds_{1, devices} {}

  /// Returns whether spans are, or can be made, runs of axes.
  bool take(const Spans& spans);

  /// Returns sizes, major first, and the stride of each.
  std::vector<Span> axes() const;

 private:
  std::set<std::uint64_t> bounds_;
};

}  // namespace ckpt::strategy
