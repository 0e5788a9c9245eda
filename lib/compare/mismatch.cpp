#include "compare/mismatch.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ckpt {

void Mismatch::add(const Mismatch& other) {
  count += other.count;
  if (std::tie(other.first, other.first_card) < std::tie(first, first_card)) {
    first = other.first;
    first_card = other.first_card;
    first_a = other.first_a;
    first_b = other.first_b;
  }
  largest.absolute = std::max(largest.absolute, other.largest.absolute);
  largest.relative = std::max(largest.relative, other.largest.relative);
  cards.resize(std::max(cards.size(), other.cards.size()));
  for (std::size_t card = 0; card < other.cards.size(); ++card)
    if (other.cards[card]) cards[card] = true;
}

Shape index_of(std::uint64_t number, const Shape& shape) {
  Shape index = row_major_strides(shape);
  for (std::uint64_t& each : index) {
    const std::uint64_t stride = each;
    each = number / stride;
    number %= stride;
  }
  return index;
}

/// The state of one region's comparison.
struct TensorComparison::Walk {
  const Region& region;
  Position card;
  const std::byte* a;
  const std::byte* b;
  Mismatch& found;
};

TensorComparison::TensorComparison(const Tensor& a, const Tensor& b, const Agreement& agreement)
    : a_(a.dtype),
      b_(b.dtype),
      a_format_(number_format(a.dtype)),
      b_format_(number_format(b.dtype)),
      agreement_(a_format_ && a_format_->is_float ? agreement : Agreement{}),
      strides_(row_major_strides(b.shape)) {}

void TensorComparison::compare(const Region& region, Position card, const std::byte* a, const std::byte* b,
                               Mismatch& found) const {
  Walk walk{region, card, a, b, found};
  descend(walk, 0, region.offset, 0);
}

void TensorComparison::descend(Walk& walk, std::size_t dim, std::uint64_t offset, std::uint64_t index) const {
  const Region& region = walk.region;
  if (dim == region.box.rank()) return compare_element(walk, offset, index);
  const Interval along = region.box[dim];
  const bool is_row = dim + 1 == region.box.rank() && region.strides[dim] == 1;
  if (is_row && is_same_row(walk.a + offset * a_.size, walk.b + offset * b_.size, along.size())) return;
  for (std::uint64_t i = along.lo; i < along.hi; ++i)
    descend(walk, dim + 1, offset + (i - along.lo) * region.strides[dim], index + i * strides_[dim]);
}

bool TensorComparison::is_same_row(const std::byte* a, const std::byte* b, std::uint64_t elements) const {
  if (a_ == b_) return std::memcmp(a, b, elements * a_.size) == 0;
  return agreement_.is_rounded && round_to(*a_format_, a, *b_format_, b, elements);
}

void TensorComparison::compare_element(Walk& walk, std::uint64_t offset, std::uint64_t index) const {
  const std::byte* a = walk.a + offset * a_.size;
  const std::byte* b = walk.b + offset * b_.size;
  if (is_same_row(a, b, 1)) return;
  Distance apart;
  if (a_format_) apart = distance(*a_format_, a, *b_format_, b);
  if (const auto& within = agreement_.tolerance;
      within && (apart.absolute <= within->absolute || apart.relative <= within->relative))
    return;
  Mismatch& found = walk.found;
  ++found.count;
  found.largest.absolute = std::max(found.largest.absolute, apart.absolute);
  found.largest.relative = std::max(found.largest.relative, apart.relative);
  found.cards.resize(std::max<std::size_t>(found.cards.size(), walk.card + 1));
  found.cards[walk.card] = true;
  if (std::tie(index, walk.card) < std::tie(found.first, found.first_card)) {
    found.first = index;
    found.first_card = walk.card;
    found.first_a = element_text(a_, a);
    found.first_b = element_text(b_, b);
  }
}

}  // namespace ckpt
