#include "diagnosis/draft/cut_candidates.hpp"

#include <algorithm>
#include <numeric>

namespace ckpt::drafting {

namespace {

using Split = std::vector<std::vector<Axis>>;

constexpr Uneven all_uneven[] = {Uneven::exact, Uneven::ceil, Uneven::balanced};
constexpr std::uint64_t largest_multiple = 1 << 16;

/// Distributes the axes from `next` on over the dimensions that may be cut, in every way and order.
void distribute(const std::vector<Axis>& axes, std::size_t next, const std::vector<bool>& may_be_cut, Split& split,
                std::vector<Split>& found) {
  if (next == axes.size()) {
    found.push_back(split);
    return;
  }
  for (std::size_t dim = 0; dim < split.size(); ++dim) {
    if (!may_be_cut[dim]) continue;
    for (std::size_t at = 0; at <= split[dim].size(); ++at) {
      const auto here = split[dim].begin() + static_cast<std::ptrdiff_t>(at);
      split[dim].insert(here, axes[next]);
      distribute(axes, next + 1, may_be_cut, split, found);
      split[dim].erase(split[dim].begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

std::vector<Split> splits(const std::vector<Axis>& axes, const std::vector<bool>& may_be_cut) {
  std::vector<Split> found;
  Split split(may_be_cut.size());
  distribute(axes, 0, may_be_cut, split, found);
  return found;
}

/// The dimensions that some cards do not store whole. `order`: stored dimension i is logical order[i].
std::vector<bool> dims_to_cut(const Question& question, const std::vector<std::size_t>& order) {
  std::vector<bool> cut(order.size(), !question.expected);
  if (question.expected)
    for (const Piece& piece : question.pieces)
      for (std::size_t i = 0; piece.array != nullptr && i < order.size(); ++i)
        if (piece.array->shape[i] != (*question.expected)[order[i]]) cut[order[i]] = true;
  return cut;
}

std::vector<std::size_t> in_order(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

Split without_trailing_nulls(Split split) {
  while (!split.empty() && split.back().empty()) split.pop_back();
  return split;
}

Keys keys_of(const Question& question, const Split& split, Uneven uneven) {
  Keys keys;
  if (const Split short_split = without_trailing_nulls(split); !short_split.empty()) {
    keys.split = short_split;
    if (uneven != Uneven::exact) keys.uneven = uneven;
  }
  if (!question.location.at.empty()) {
    keys.at = question.location.at;
    keys.at_last = question.location.at_last;
  }
  return keys;
}

/// Each way to split with each way to cut unevenly; just one way without axes.
std::vector<Keys> plain(const Question& question, const std::vector<Axis>& axes, const std::vector<bool>& may_be_cut) {
  std::vector<Keys> found;
  for (const Split& split : splits(axes, may_be_cut))
    for (const Uneven uneven : all_uneven) {
      found.push_back(keys_of(question, split, uneven));
      if (axes.empty()) break;
    }
  return found;
}

std::vector<Keys> padded(const Question& question, const std::vector<Axis>& axes) {
  std::vector<Keys> found;
  if (!question.expected) return found;
  for (const Split& split : splits(axes, dims_to_cut(question, in_order(question.expected->size()))))
    for (std::size_t dim = 0; dim < split.size(); ++dim) {
      if (split[dim].empty()) continue;
      std::vector<std::uint64_t> multiples{question.first().shape[dim]};  // fits whatever the true one is
      for (std::uint64_t m = largest_multiple; m > 0; m /= 2) multiples.push_back(m);
      for (auto m = multiples.rbegin(); m != multiples.rend(); ++m) {
        if (*m == 0) continue;
        Keys keys = keys_of(question, split, Uneven::exact);
        keys.pad.emplace()[dim] = Pad{(*question.expected)[dim], *m, Fill::zero};
        found.push_back(std::move(keys));
      }
    }
  return found;
}

std::vector<Keys> in_parts(const Question& question, const std::vector<Axis>& axes,
                           const std::vector<std::vector<std::uint64_t>>& known_parts) {
  std::vector<Keys> found;
  if (!question.expected) return found;
  for (const Keys& keys : plain(question, axes, dims_to_cut(question, in_order(question.expected->size()))))
    for (std::size_t dim = 0; keys.split && dim < keys.split->size(); ++dim) {
      if ((*keys.split)[dim].empty()) continue;
      const auto add = [&](Parts parts) {
        found.push_back(keys);
        found.back().parts = std::move(parts);
      };
      for (const std::uint64_t count : {2, 3})
        if (question.has_data && (*question.expected)[dim] % count == 0) add({dim, {}, count});
      for (const auto& sizes : known_parts) {
        if (std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) != (*question.expected)[dim]) continue;
        const bool is_even = std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
        add(is_even ? Parts{dim, {}, sizes.size()} : Parts{dim, sizes, 0});
      }
    }
  return found;
}

std::vector<Keys> permuted(const Question& question, const std::vector<Axis>& axes) {
  constexpr std::size_t most_dims = 4;
  std::vector<Keys> found;
  const std::size_t rank = question.first().shape.size();
  if (!question.expected || rank > most_dims) return found;
  for (auto order = in_order(rank); std::next_permutation(order.begin(), order.end());)
    for (Keys& keys : plain(question, axes, dims_to_cut(question, order))) {
      keys.permute = order;
      found.push_back(std::move(keys));
    }
  return found;
}

std::vector<Keys> flattened(const Question& question, const std::vector<Axis>& axes) {
  std::vector<Keys> found;
  if (!question.expected || question.first().shape.size() != 1 || question.expected->empty()) return found;
  for (const Axis flat : axes) {
    std::vector<Axis> rest = axes;
    std::erase(rest, flat);
    for (const Keys& keys : plain(question, rest, std::vector<bool>(question.expected->size(), true)))
      for (std::uint64_t multiple = 1; multiple <= largest_multiple; multiple *= 2) {
        found.push_back(keys);
        found.back().flat = Flat{flat, multiple};
        found.back().shape.emplace(question.expected->begin(), question.expected->end());
      }
  }
  return found;
}

}  // namespace

std::vector<Keys> candidates(Family family, const Question& question, const std::vector<Axis>& axes,
                             const std::vector<std::vector<std::uint64_t>>& known_parts) {
  const std::size_t rank = question.first().shape.size();
  if (family == Family::flat) return flattened(question, axes);
  if (question.expected && question.expected->size() != rank) return {};
  switch (family) {
    case Family::split:
      return plain(question, axes, dims_to_cut(question, in_order(rank)));
    case Family::pad:
      return padded(question, axes);
    case Family::parts:
      return in_parts(question, axes, known_parts);
    case Family::permute:
      return permuted(question, axes);
    default:
      break;
  }
  if (!axes.empty()) return {};
  Keys keys = keys_of(question, {}, Uneven::exact);
  keys.replicas = Replicas::first;
  return {keys};
}

std::vector<std::vector<Axis>> sets_of_axes(const Mesh& mesh) {
  std::vector<Axis> longer;
  for (Axis axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.shape[axis] > 1) longer.push_back(axis);
  std::vector<std::vector<Axis>> sets;
  for (std::uint64_t subset = 0; subset < std::uint64_t{1} << longer.size(); ++subset) {
    sets.emplace_back();
    for (std::size_t a = 0; a < longer.size(); ++a)
      if ((subset >> a & 1) != 0) sets.back().push_back(longer[a]);
  }
  std::stable_sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return sets;
}

}  // namespace ckpt::drafting
