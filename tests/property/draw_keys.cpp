#include <algorithm>
#include <numeric>

#include "property/generator.hpp"

namespace model {

namespace {

/// n as a sum of `count` numbers, some of them 0.
Numbers sum_of(Choices& choices, std::uint64_t n, std::uint64_t count) {
  Numbers cuts{0, n};
  for (std::uint64_t i = 1; i < count; ++i) cuts.push_back(choices.below(n + 1));
  std::sort(cuts.begin(), cuts.end());
  Numbers sizes;
  for (std::size_t i = 1; i < cuts.size(); ++i) sizes.push_back(cuts[i] - cuts[i - 1]);
  return sizes;
}

class KeyDrawer {
 public:
  KeyDrawer(Choices& choices, const Mesh& mesh, const Tensor& tensor, const KeyLimits& limits)
      : choices_(choices), mesh_(mesh), tensor_(tensor), limits_(limits), rank_(tensor.shape.size()) {
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (limits.taken.count(axis) == 0) free_.push_back(axis);
  }

  Keys draw() {
    if (!limits_.is_member && limits_.taken.empty() && choices_.chance(12)) return draw_boxes();
    if (!limits_.is_member) draw_at();
    draw_split();
    for (std::size_t dim = 0; dim < rank_; ++dim) draw_cut(dim);
    draw_uneven();
    draw_permute();
    if (limits_.is_member) return keys_;
    if (!free_.empty() && choices_.chance(25))
      keys_.flat = Flat{choices_.pick(free_), choices_.chance(30) ? choices_.between(2, 4) : 1};
    // A scalar lies flat only where the rule says that it is one.
    keys_.gives_shape = (keys_.flat && (limits_.must_tell_shapes || rank_ == 0)) || choices_.chance(15);
    keys_.first_replica = choices_.chance(10);
    return keys_;
  }

 private:
  /// A dissection into as many boxes as some of the cards; the others hold one of them again, or nothing.
  Keys draw_boxes() {
    Sides all;
    for (const std::uint64_t extent : tensor_.shape) all.emplace_back(0, extent);
    std::vector<Sides> boxes{all};
    const std::uint64_t cards = positions(mesh_);
    for (std::uint64_t wanted = choices_.between(1, std::min<std::uint64_t>(cards, 6));
         rank_ > 0 && boxes.size() < wanted;) {
      Sides& low = boxes[choices_.below(boxes.size())];
      Sides high = low;
      const std::size_t dim = choices_.below(rank_);
      const std::uint64_t at = choices_.between(low[dim].first, low[dim].second);
      low[dim].second = high[dim].first = at;
      boxes.push_back(std::move(high));
    }
    std::vector<std::uint64_t> order(cards);
    std::iota(order.begin(), order.end(), 0U);
    choices_.shuffle(order);
    for (std::size_t i = 0; i < order.size(); ++i)
      if (i < boxes.size() || choices_.chance(50))
        keys_.boxes[order[i]] = boxes[i < boxes.size() ? i : choices_.below(boxes.size())];
    for (std::size_t dim = 0; dim < rank_; ++dim)
      if (choices_.chance(20)) pad_boxes(dim);
    draw_permute();
    keys_.gives_shape = choices_.chance(30);
    keys_.first_replica = choices_.chance(10);
    return keys_;
  }

  /// Boxes that end where the tensor does reach beyond it.
  void pad_boxes(std::size_t dim) {
    const std::uint64_t size = tensor_.shape[dim];
    const std::uint64_t end = size + choices_.below(3);
    keys_.pad[dim] = Pad{size, 1, false};
    for (auto& [position, sides] : keys_.boxes)
      if (sides[dim].first < size && sides[dim].second == size) sides[dim].second = end;
  }

  void draw_permute() {
    if (rank_ == 0 || !choices_.chance(25)) return;
    keys_.permute.resize(rank_);
    std::iota(keys_.permute.begin(), keys_.permute.end(), 0U);
    choices_.shuffle(keys_.permute);
  }

  /// Some coordinates of an axis: then it cuts nothing. All of them: then it may.
  void draw_at() {
    for (std::size_t i = free_.size(); i-- > 0;) {
      if (!choices_.chance(15)) continue;
      const std::size_t axis = free_[i];
      Numbers coordinates;
      for (std::uint64_t c = 0; c < mesh_.shape[axis]; ++c)
        if (choices_.chance(50)) coordinates.push_back(c);
      if (coordinates.empty()) coordinates.push_back(choices_.below(mesh_.shape[axis]));
      choices_.shuffle(coordinates);
      if (coordinates.size() < mesh_.shape[axis]) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      keys_.at[axis] = std::move(coordinates);
    }
  }

  void draw_split() {
    if (rank_ == 0) return;
    keys_.split.resize(rank_);
    choices_.shuffle(free_);
    std::vector<std::size_t> left;
    for (const std::size_t axis : free_) {
      if (choices_.chance(70))
        keys_.split[choices_.below(rank_)].push_back(axis);
      else
        left.push_back(axis);
    }
    free_ = left;
    if (std::all_of(keys_.split.begin(), keys_.split.end(), [](const auto& axes) { return axes.empty(); }))
      keys_.split.clear();
  }

  void draw_cut(std::size_t dim) {
    const std::uint64_t n = tensor_.shape[dim];
    const bool is_split = dim < keys_.split.size() && !keys_.split[dim].empty();
    const std::uint64_t kind = choices_.below(is_split ? 10 : 30);
    if (kind == 1 || kind == 2) {
      if (is_split && keys_.split[dim].size() == 1)
        keys_.sizes[dim] = sum_of(choices_, n, mesh_.shape[keys_.split[dim][0]]);
    } else if ((kind == 3 || kind == 4) && !keys_.parts) {
      draw_parts(dim, n);
    } else if ((kind == 5 || kind == 6) && keys_.pad.size() < 2) {
      keys_.pad[dim] = Pad{n, choices_.chance(50) ? choices_.between(2, 4) : 1, n > 0 && choices_.chance(50)};
    }
  }

  void draw_parts(std::size_t dim, std::uint64_t n) {
    Parts parts;
    parts.dim = dim;
    if (choices_.chance(50)) {
      Numbers divisors;
      for (std::uint64_t d = 1; d <= std::max<std::uint64_t>(n, 3); ++d)
        if (n % d == 0) divisors.push_back(d);
      parts.count = choices_.pick(divisors);
    } else {
      parts.sizes = sum_of(choices_, n, choices_.between(1, 4));
    }
    keys_.parts = std::move(parts);
  }

  void draw_uneven() {
    static const std::vector<Uneven> any{Uneven::exact, Uneven::exact, Uneven::ceil, Uneven::balanced};
    static const std::vector<Uneven> unequal{Uneven::ceil, Uneven::balanced};
    bool is_even = true;
    for (std::size_t dim = 0; dim < keys_.split.size(); ++dim) is_even = is_even && divides(dim);
    keys_.uneven = choices_.pick(is_even ? any : unequal);
  }

  bool divides(std::size_t dim) const {
    if (keys_.sizes.count(dim) != 0 || keys_.pad.count(dim) != 0) return true;
    std::uint64_t k = 1;
    for (const std::size_t axis : keys_.split[dim]) k *= mesh_.shape[axis];
    const std::uint64_t n = tensor_.shape[dim];
    if (!keys_.parts || keys_.parts->dim != dim) return n % k == 0;
    if (keys_.parts->sizes.empty()) return n / keys_.parts->count % k == 0;
    return std::all_of(keys_.parts->sizes.begin(), keys_.parts->sizes.end(), [&](auto size) { return size % k == 0; });
  }

  Choices& choices_;
  const Mesh& mesh_;
  const Tensor& tensor_;
  const KeyLimits& limits_;
  std::size_t rank_;
  std::vector<std::size_t> free_;
  Keys keys_;
};

}  // namespace

Keys draw_keys(Choices& choices, const Mesh& mesh, const Tensor& tensor, const KeyLimits& limits) {
  return KeyDrawer(choices, mesh, tensor, limits).draw();
}

}  // namespace model
