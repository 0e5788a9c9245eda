#include "diagnosis/likeness/sample_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace ckpt::likeness {

namespace {

constexpr std::uint64_t box_elements = 512;
constexpr std::uint64_t tile_row = 32;            // elements of a row where source and target have other rows
constexpr std::uint64_t most_whole = 1ULL << 16;  // elements of a matrix that is read whole
constexpr std::uint64_t most_of_vector = 4096;    // elements
constexpr std::uint64_t least_boxes = 512;
constexpr std::uint64_t most_boxes = 16384;
constexpr std::uint64_t bytes_for_box = 512 << 10;

/// The part of 1 that the n-th of many evenly spread numbers has: no two are near each other.
double spread_evenly(std::uint64_t n) {
  constexpr double golden = 0.6180339887498949;
  const double product = golden * static_cast<double>(n);
  return product - std::floor(product);
}

/// The link that has a tensor's first element, if there is one.
std::optional<Link> first_link(const SampledTensor& tensor) {
  std::optional<Link> found;
  if (tensor.links == nullptr) return found;
  const Shape first(tensor.shape.size());
  Box element{first, first};
  for (std::size_t d = 0; d < element.rank(); ++d) ++element.hi[d];
  tensor.links->for_each(element, [&](ParameterId, const Link& link) {
    if (Box part = whole(link.size); narrow(part, link.target, element)) found = link;
  });
  return found;
}

/// Whether a row of the tensor is one of the source. If not, a run of one side is a column of the other.
bool keeps_rows(const SampledTensor& tensor) {
  if (tensor.links == nullptr) return true;
  const auto link = first_link(tensor);
  if (!link) return true;
  for (std::size_t k = 0; k < link->target.dims.size(); ++k)
    if (link->target.dims[k] + 1 == tensor.shape.size())
      return link->source.dims[k] + 1 == link->source.base.size() && link->source.steps[k] == link->target.steps[k];
  return false;
}

/// Whether several links make the tensor: then rows may be in other places, and others not.
bool is_cut_anew(const SampledTensor& tensor) {
  if (tensor.links == nullptr) return false;
  const auto link = first_link(tensor);
  return link && numel(link->size) < numel(tensor.shape);
}

/// The extents of the boxes of a large tensor.
Shape extents_of(const SampledTensor& tensor) {
  Shape extents(tensor.shape.size());
  std::uint64_t left = box_elements;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const bool is_row = d + 1 == extents.size();
    extents[d] = std::min({tensor.shape[d], left, is_row && !keeps_rows(tensor) ? tile_row : left});
    left = std::max<std::uint64_t>(left / extents[d], 1);
  }
  return extents;
}

/// The box of these extents at a part of the tensor's elements.
Box box_at(const SampledTensor& tensor, const Shape& extents, double part) {
  Shape counts(extents.size());
  std::uint64_t cells = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    counts[d] = ceil_div(tensor.shape[d], extents[d]);
    cells *= counts[d];
  }
  auto cell = std::min(static_cast<std::uint64_t>(part * static_cast<double>(cells)), cells - 1);
  Box box{Shape(extents.size()), Shape(extents.size())};
  for (std::size_t d = extents.size(); d-- > 0;) {
    const std::uint64_t lo = std::min(cell % counts[d] * extents[d], tensor.shape[d] - extents[d]);
    box.set(d, {lo, lo + extents[d]});
    cell /= counts[d];
  }
  return box;
}

TensorBoxes boxes_of(const SampledTensor& tensor, std::size_t number, std::uint64_t count, std::uint64_t first) {
  TensorBoxes made{number, is_cut_anew(tensor), {}};
  const std::uint64_t elements = numel(tensor.shape);
  if (tensor.shape.size() == 1) {
    made.boxes.push_back(whole(Shape{std::min(elements, most_of_vector)}));
  } else if (elements <= std::min(count * box_elements, most_whole)) {
    made.boxes.push_back(whole(tensor.shape));
  } else {
    const Shape extents = extents_of(tensor);
    for (std::uint64_t i = 0; i < count; ++i) made.boxes.push_back(box_at(tensor, extents, spread_evenly(first + i)));
  }
  return made;
}

}  // namespace

std::vector<TensorBoxes> choose_boxes(const std::vector<SampledTensor>& tensors, std::uint64_t bytes) {
  std::map<std::string, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < tensors.size(); ++i) kinds[kind_of(tensors[i].name)].push_back(i);
  std::vector<TensorBoxes> chosen;
  if (kinds.empty()) return chosen;
  const std::uint64_t share =
      std::max<std::uint64_t>(std::clamp(bytes / bytes_for_box, least_boxes, most_boxes) / kinds.size(), 1);
  for (const auto& [name, members] : kinds) {
    const std::uint64_t taken = std::min<std::uint64_t>(members.size(), share);
    for (std::uint64_t i = 0; i < taken; ++i) {
      const std::size_t number = members[i * members.size() / taken];
      chosen.push_back(boxes_of(tensors[number], number, share / taken, i * (share / taken)));
    }
  }
  return chosen;
}

std::vector<Interval> blocks_of(const TensorBoxes& of, std::size_t box, const Shape& shape) {
  const Shape extents = of.boxes[box].shape();
  const std::uint64_t elements = numel(extents);
  const std::uint64_t row = extents.empty() ? 1 : extents[extents.size() - 1];
  if (extents.size() < 2 || of.boxes.size() > 1 || elements != numel(shape)) return {{0, elements}};
  const std::uint64_t rows = elements / row;
  const std::uint64_t step = ceil_div(TensorSample::least_block, row);
  std::vector<Interval> blocks;
  for (std::uint64_t at = 0; at < rows; at += step) {  // what is left goes to the last
    const bool is_last = at + 2 * step > rows;
    blocks.push_back({at * row, (is_last ? rows : at + step) * row});
    if (is_last) break;
  }
  return blocks;
}

}  // namespace ckpt::likeness
