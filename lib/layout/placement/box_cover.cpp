#include "layout/placement/box_cover.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace ckpt {

namespace {

constexpr std::uint32_t leaf_size = 4;

bool comes_before(const Box& a, const Box& b) {
  const auto order = std::lexicographical_compare_three_way(a.lo.begin(), a.lo.end(), b.lo.begin(), b.lo.end());
  if (order != std::strong_ordering::equal) return order == std::strong_ordering::less;
  return std::lexicographical_compare(a.hi.begin(), a.hi.end(), b.hi.begin(), b.hi.end());
}

std::uint64_t middle(Interval interval) {
  return interval.lo + interval.size() / 2;
}

}  // namespace

BoxCover::BoxCover(const Boxes& boxes, const Shape& shape, const Mesh& mesh) {
  collect(boxes, mesh);
  check_within(shape, mesh);
  if (solid_ > 0) build(0, solid_);
  for (std::uint32_t number = 0; number < boxes_.size(); ++number) {
    const auto& holders = boxes_[number].holders;
    for (std::uint32_t copy = 0; copy < holders.size(); ++copy) by_position_[holders[copy]] = {number, copy};
    if (holders.size() > boxes_[most_held_].holders.size()) most_held_ = number;
  }
  check_no_overlap(mesh);
  check_no_gap(shape);
}

Shape BoxCover::reach(const Boxes& boxes) {
  Shape shape(boxes.begin()->second.rank());
  for (const auto& [card, box] : boxes)
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = std::max(shape[d], box.hi[d]);
  return shape;
}

void BoxCover::collect(const Boxes& boxes, const Mesh& mesh) {
  std::unordered_map<std::uint64_t, std::uint64_t> position_of;
  for (std::uint64_t position = 0; position < mesh.size(); ++position)
    position_of.emplace(mesh.card(position), position);
  struct Less {
    bool operator()(const Box& a, const Box& b) const {
      if (a.empty() != b.empty()) return b.empty();
      return comes_before(a, b);
    }
  };
  std::map<Box, std::vector<std::uint64_t>, Less> holders;
  for (const auto& [card, box] : boxes) {
    const auto position = position_of.find(card);
    if (position == position_of.end())
      throw Error(Kind::layout, "boxes name card " + std::to_string(card) + ", which the mesh has not");
    holders[box].push_back(position->second);
  }
  for (auto& [box, positions] : holders) {
    std::sort(positions.begin(), positions.end());
    if (!box.empty()) ++solid_;
    boxes_.push_back({box, std::move(positions)});
  }
}

/// Splits the remaining boxes at the middle of the dimension in which they are spread furthest.
void BoxCover::build(std::uint32_t first, std::uint32_t last) {
  Box around = boxes_[first].box;
  Box centres{Shape(around.rank()), Shape(around.rank())};
  for (std::size_t d = 0; d < around.rank(); ++d) {
    Interval spread{middle(around[d]), middle(around[d])};
    for (std::uint32_t i = first; i < last; ++i) {
      const Interval here = boxes_[i].box[d];
      around.set(d, {std::min(around.lo[d], here.lo), std::max(around.hi[d], here.hi)});
      spread = {std::min(spread.lo, middle(here)), std::max(spread.hi, middle(here))};
    }
    centres.set(d, spread);
  }
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({around, first, last});
  if (last - first <= leaf_size) return;
  std::size_t widest = 0;
  for (std::size_t d = 1; d < around.rank(); ++d)
    if (centres[d].size() > centres[widest].size()) widest = d;
  const std::uint32_t half = first + (last - first) / 2;
  std::nth_element(boxes_.begin() + first, boxes_.begin() + half, boxes_.begin() + last,
                   [widest](const Entry& a, const Entry& b) { return middle(a.box[widest]) < middle(b.box[widest]); });
  build(first, half);
  nodes_[number].second_child = static_cast<std::uint32_t>(nodes_.size());
  build(half, last);
}

const BoxCover::CardBox* BoxCover::held(std::uint64_t position) const noexcept {
  const auto found = by_position_.find(position);
  return found == by_position_.end() ? nullptr : &found->second;
}

bool BoxCover::meets(const Box& a, const Box& b) noexcept {
  for (std::size_t d = 0; d < a.rank(); ++d)
    if (a.lo[d] >= b.hi[d] || b.lo[d] >= a.hi[d]) return false;
  return true;
}

std::string BoxCover::name(std::size_t number, const Mesh& mesh) const {
  return to_string(boxes_[number].box) + " of card " + std::to_string(mesh.card(boxes_[number].holders.front()));
}

void BoxCover::check_within(const Shape& shape, const Mesh& mesh) const {
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Box& box = boxes_[i].box;
    if (box.rank() != shape.size())
      throw Error(Kind::layout, "the box " + name(i, mesh) + " does not have the dimensions of " + to_string(shape));
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (box.hi[d] > shape[d])
        throw Error(Kind::layout, "the box " + name(i, mesh) + " reaches beyond the shape " + to_string(shape));
  }
}

void BoxCover::check_no_overlap(const Mesh& mesh) const {
  for (std::size_t i = 0; i < solid_; ++i)
    for_each_meeting(boxes_[i].box, [&](std::size_t other) {
      if (other != i)
        throw Error(Kind::layout, "the boxes " + name(std::min(i, other), mesh) + " and " +
                                      name(std::max(i, other), mesh) + " overlap without being the same");
    });
}

/// Returns how many elements of a box are covered by boxes, which do not overlap.
std::uint64_t BoxCover::covered(const Box& wanted) const {
  std::uint64_t sum = 0;
  for_each_meeting(wanted, [&](std::size_t i) { sum += numel(intersect(boxes_[i].box, wanted)->shape()); });
  return sum;
}

/// If anything is not covered, halves the tensor until the rest is a gap.
void BoxCover::check_no_gap(const Shape& shape) const {
  Box gap = whole(shape);
  std::uint64_t elements = numel(shape);
  const std::uint64_t all = covered(gap);
  if (all == elements) return;
  const std::uint64_t missing = elements - all;
  for (std::uint64_t held = all; held != 0; held = covered(gap)) {
    std::size_t widest = 0;
    for (std::size_t d = 1; d < gap.rank(); ++d)
      if (gap[d].size() > gap[widest].size()) widest = d;
    Box half = gap;
    half.hi[widest] = middle(gap[widest]);
    if (covered(half) == numel(half.shape())) {
      half.lo[widest] = half.hi[widest];
      half.hi[widest] = gap.hi[widest];
    }
    gap = half;
  }
  throw Error(Kind::layout, "",
              {"no box holds " + std::to_string(missing) + " of the " + std::to_string(elements) + " elements of " +
                   to_string(shape) + ", such as " + to_string(gap),
               "boxes that make up " + to_string(shape), "is a card missing in \"boxes\"?"});
}

}  // namespace ckpt
