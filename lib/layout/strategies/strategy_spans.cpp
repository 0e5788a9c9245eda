#include <algorithm>
#include <functional>
#include <numeric>

#include "layout/strategies/strategy.hpp"

namespace ckpt::strategy {

namespace {

/// Returns the number of devices in a step of one along each axis.
std::vector<std::uint64_t> strides_of(const std::vector<std::uint64_t>& devices) {
  std::vector<std::uint64_t> strides(devices.size(), 1);
  for (std::size_t i = devices.size(); i-- > 1;) strides[i - 1] = strides[i] * devices[i];
  return strides;
}

/// Returns the axes that cut no dimension: replicas lie along them.
std::vector<std::size_t> free_axes_of(const ParameterStrategy& parameter) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < parameter.devices.size(); ++axis)
    if (std::none_of(parameter.split.begin(), parameter.split.end(),
                     [axis](const auto& used) { return std::find(used.begin(), used.end(), axis) != used.end(); }))
      axes.push_back(axis);
  return axes;
}

/// Replica p of a piece, counted row-major over the free axes, holds part p mod n of it: the fastest axes determine the
/// part.
std::optional<std::vector<Span>> optimizer_spans(const ParameterStrategy& parameter) {
  const auto strides = strides_of(parameter.devices);
  const auto axes = free_axes_of(parameter);
  std::uint64_t left = parameter.optimizer_shards;
  std::vector<Span> spans;
  for (std::size_t i = axes.size(); i-- > 0 && left > 1;) {
    const std::uint64_t size = parameter.devices[axes[i]];
    const std::uint64_t taken = std::min(left, size);
    if (size % taken != 0 || left % taken != 0) return std::nullopt;
    if (taken > 1) spans.insert(spans.begin(), {strides[axes[i]], strides[axes[i]] * taken});
    left /= taken;
  }
  return spans;
}

/// An index over several axes, the first major, and their number of combinations.
struct Index {
  std::uint64_t at = 0;
  std::uint64_t count = 1;

  void add(std::uint64_t coordinate, std::uint64_t size) {
    at = at * size + coordinate;
    count *= size;
  }
};

/// Returns one of several equal pieces.
Interval piece_of(Interval whole, Index index) {
  const std::uint64_t each = whole.size() / index.count;
  return {whole.lo + index.at * each, whole.lo + (index.at + 1) * each};
}

Interval uneven_piece(const std::vector<std::uint64_t>& sizes, std::uint64_t index) {
  const auto piece = sizes.begin() + static_cast<std::ptrdiff_t>(index);
  const std::uint64_t start = std::accumulate(sizes.begin(), piece, std::uint64_t{0});
  return {start, start + *piece};
}

}  // namespace

std::optional<Spans> spans_of(const ParameterStrategy& parameter) {
  const auto strides = strides_of(parameter.devices);
  Spans spans;
  for (const auto& axes : parameter.split) {
    auto& of_dim = spans.emplace_back();
    for (const std::size_t axis : axes)
      if (const std::uint64_t size = parameter.devices[axis]; size > 1)
        of_dim.push_back({strides[axis], strides[axis] * size});
  }
  if (parameter.optimizer_shards <= 1) return spans;
  if (!parameter.sizes.empty()) return std::nullopt;
  const auto tail = optimizer_spans(parameter);
  if (!tail) return std::nullopt;
  spans.front().insert(spans.front().end(), tail->begin(), tail->end());
  return spans;
}

std::vector<std::uint64_t> pieces_of(const ParameterStrategy& parameter) {
  std::vector<std::uint64_t> pieces(parameter.split.size(), 1);
  for (std::size_t d = 0; d < pieces.size(); ++d)
    for (const std::size_t axis : parameter.split[d]) pieces[d] *= parameter.devices[axis];
  if (!pieces.empty()) pieces.front() *= parameter.optimizer_shards;
  if (!parameter.sizes.empty())
    pieces.front() = std::accumulate(parameter.sizes.begin(), parameter.sizes.end(), std::uint64_t{0});
  return pieces;
}

std::vector<Box> boxes_of(const ParameterStrategy& parameter, const std::vector<std::uint64_t>& pieces) {
  const auto strides = strides_of(parameter.devices);
  const auto free = free_axes_of(parameter);
  const std::uint64_t count =
      std::accumulate(parameter.devices.begin(), parameter.devices.end(), std::uint64_t{1}, std::multiplies<>());
  std::vector<Box> boxes;
  for (std::uint64_t device = 0; device < count; ++device) {
    const auto index_over = [&](const std::vector<std::size_t>& axes) {
      Index index;
      for (const std::size_t axis : axes)
        index.add(device / strides[axis] % parameter.devices[axis], parameter.devices[axis]);
      return index;
    };
    Box box = whole(Shape(std::span<const std::uint64_t>(pieces)));
    for (std::size_t d = 0; d < pieces.size(); ++d) {
      const Index index = index_over(parameter.split[d]);
      box.set(d,
              d == 0 && !parameter.sizes.empty() ? uneven_piece(parameter.sizes, index.at) : piece_of(box[d], index));
    }
    if (parameter.optimizer_shards > 1) {
      const Index replica = index_over(free);
      box.set(0, piece_of(box[0], {replica.at % parameter.optimizer_shards, parameter.optimizer_shards}));
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

}  // namespace ckpt::strategy
