#include "tensor/hyperslab.hpp"

#include <algorithm>

namespace ckpt {

namespace {

using Stripe = Hyperslab::Stripe;

std::uint64_t indices(const Stripe& stripe) {
  return stripe.count * stripe.block;
}

/// Returns how many of a stripe's indices precede this one.
std::uint64_t indices_before(const Stripe& stripe, std::uint64_t index) {
  if (index <= stripe.start) return 0;
  const std::uint64_t from_start = index - stripe.start;
  const std::uint64_t blocks = stripe.count == 1 ? 0 : from_start / stripe.stride;
  if (blocks >= stripe.count) return indices(stripe);
  return blocks * stripe.block + std::min(from_start - blocks * stripe.stride, stripe.block);
}

bool holds(const Stripe& stripe, std::uint64_t index) {
  return indices_before(stripe, index + 1) != indices_before(stripe, index);
}

std::uint64_t index_at(const Stripe& stripe, std::uint64_t number) {
  return stripe.start + number / stripe.block * stripe.stride + number % stripe.block;
}

/// `count` steps of this length along a dimension of the array.
struct Walk {
  std::uint64_t count;
  std::uint64_t step;
};

/// Returns the stripe that nested walks along one dimension visit.
std::optional<Stripe> stripe_of(std::uint64_t start, std::vector<Walk> walks) {
  std::sort(walks.begin(), walks.end(), [](const Walk& a, const Walk& b) { return a.step > b.step; });
  std::vector<Walk> merged;
  for (const Walk& walk : walks) {
    if (!merged.empty() && merged.back().step == walk.count * walk.step)
      merged.back() = {merged.back().count * walk.count, walk.step};
    else
      merged.push_back(walk);
  }
  Stripe stripe{start, 1, 1, 1};
  if (!merged.empty() && merged.back().step == 1) {
    stripe.block = merged.back().count;
    merged.pop_back();
  }
  if (merged.empty()) return stripe;
  if (merged.size() > 1 || merged.front().step <= stripe.block) return std::nullopt;
  stripe.stride = merged.front().step;
  stripe.count = merged.front().count;
  return stripe;
}

}  // namespace

Hyperslab whole_hyperslab(const Shape& shape) {
  Hyperslab whole{shape, {}};
  for (const std::uint64_t extent : shape) whole.stripes.push_back({0, 1, 1, extent});
  return whole;
}

bool is_valid(const Hyperslab& hyperslab) {
  if (hyperslab.stripes.size() != hyperslab.shape.size()) return false;
  for (std::size_t d = 0; d < hyperslab.stripes.size(); ++d) {
    const auto& [start, stride, count, block] = hyperslab.stripes[d];
    const std::uint64_t extent = hyperslab.shape[d];
    if (count == 0 || block == 0 || start >= extent || block > extent - start) return false;
    if (count > 1 && (stride < block || (extent - start - block) / stride < count - 1)) return false;
  }
  return true;
}

std::uint64_t numel(const Hyperslab& hyperslab) {
  std::uint64_t elements = 1;
  for (const Stripe& stripe : hyperslab.stripes)
    elements = checked_mul(elements, checked_mul(stripe.count, stripe.block));
  return elements;
}

std::optional<Hyperslab> hyperslab_of(const Region& region, const Shape& shape) {
  const Shape size = region.box.shape();
  const Shape strides = row_major_strides(shape);
  Hyperslab hyperslab{shape, {}};
  // As in `restrided`, an offset or stride is a number with one digit for each dimension of the array.
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto digit = [&](std::uint64_t elements) { return elements / strides[k] % shape[k]; };
    std::vector<Walk> walks;
    for (std::size_t d = 0; d < size.size(); ++d)
      if (const std::uint64_t step = digit(region.strides[d]); size[d] > 1 && step != 0)
        walks.push_back({size[d], step});
    const auto stripe = stripe_of(digit(region.offset), std::move(walks));
    if (!stripe) return std::nullopt;
    hyperslab.stripes.push_back(*stripe);
  }
  // This excludes a stride with two digits, which walks along a diagonal, and one with a carry into another dimension.
  if (!is_valid(hyperslab) || numel(hyperslab) != numel(size)) return std::nullopt;
  return hyperslab;
}

HyperslabRuns::HyperslabRuns(const Hyperslab& hyperslab)
    : hyperslab_(hyperslab),
      strides_(row_major_strides(hyperslab.shape)),
      count_(numel(hyperslab)),
      levels_(hyperslab.stripes.size()) {
  while (levels_ > 0) {
    const Stripe& stripe = hyperslab_.stripes[levels_ - 1];
    run_ *= stripe.block;
    if (stripe.block != hyperslab_.shape[levels_ - 1]) break;
    --levels_;  // covers the whole dimension: the runs of the next outer dimension continue through it
  }
}

std::uint64_t HyperslabRuns::before(std::uint64_t element) const noexcept {
  std::uint64_t before = 0;
  std::uint64_t inner = count_;  // elements for each index of the current dimension
  for (std::size_t d = 0; d < strides_.size(); ++d) {
    const Stripe& stripe = hyperslab_.stripes[d];
    const std::uint64_t index = element / strides_[d];
    element -= index * strides_[d];
    inner /= indices(stripe);
    before += indices_before(stripe, index) * inner;
    if (!holds(stripe, index)) return before;
  }
  return before + element;  // without dimensions: 1 at the end
}

HyperslabRuns::Run HyperslabRuns::from(std::uint64_t number) const noexcept {
  const std::uint64_t in_run = number % run_;
  Run run{in_run, run_ - in_run};
  std::uint64_t rest = number / run_;
  for (std::size_t d = levels_; d-- > 0;) {
    const Stripe& stripe = hyperslab_.stripes[d];
    const bool is_of_runs = d + 1 == levels_;
    const std::uint64_t steps = is_of_runs ? stripe.count : indices(stripe);
    const std::uint64_t index =
        is_of_runs ? stripe.start + rest % steps * stripe.stride : index_at(stripe, rest % steps);
    run.element += index * strides_[d];
    rest /= steps;
  }
  return run;
}

}  // namespace ckpt
