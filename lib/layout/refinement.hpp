#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "layout/strategy.hpp"

namespace ckpt::strategy {

/// The inner axes of a mesh that serve all spans that fit: boundaries that divide one another.
class Refinement {
 public:
  explicit Refinement(std::uint64_t devices) : bounds_{1, devices} {}

  /// Whether spans are, or now become, runs of axes.
  bool take(const Spans& spans);

  /// Sizes, major first, and the stride of each.
  std::vector<Span> axes() const;

 private:
  std::set<std::uint64_t> bounds_;
};

}  // namespace ckpt::strategy
