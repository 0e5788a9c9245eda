#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/placement/resolve.hpp"

// Checkpoints that are only declared: names and shapes for each card, and a look at what a placement says lies where.
namespace ckpt::fixture {

inline DType f32() {
  return *number_type("f32");
}

inline StoredArray array(std::string name, Shape shape, DType dtype = f32()) {
  return {std::move(name), std::move(dtype), shape, std::nullopt, false};
}

inline CardArrays card(std::vector<StoredArray> arrays) {
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
}

inline std::vector<CardArrays> cards(std::size_t count, const CardArrays& each) {
  return std::vector<CardArrays>(count, each);
}

inline Tensor tensor(std::string name, Shape shape, DType dtype = f32()) {
  return {std::move(name), std::move(dtype), shape, false};
}

/// {"ckpt_layout": 1, "mesh": {"axes": AXES, "shape": SHAPE}, REST}.
inline Layout layout(const std::string& axes, const std::string& shape, const std::string& rest) {
  std::string text = R"({"ckpt_layout": 1, "mesh": {"axes": )";
  text.append(axes).append(R"(, "shape": )").append(shape).append("}");
  if (!rest.empty()) text.append(", ").append(rest);
  return parse_layout(text.append("}"), "a.json");
}

/// One rule for everything.
inline Layout one_rule(const std::string& axes, const std::string& shape, const std::string& keys) {
  std::string rest = R"("parameters": [{"name": "*")";
  if (!keys.empty()) rest.append(", ").append(keys);
  return layout(axes, shape, rest.append("}]"));
}

inline Placement target(const Layout& layout, const std::vector<Tensor>& tensors) {
  return resolve_target(layout, tensors).placement;
}

/// For each element that a card stores of an array, which element of which tensor it is; nothing for padding. A `fill`
/// is told with '+'.
struct ElementPlace {
  std::string tensor;
  std::uint64_t index = 0;
  bool fill = false;
};
inline std::vector<std::optional<ElementPlace>> places(const Placement& placement, ArrayId array, Position position) {
  std::vector<std::optional<ElementPlace>> found(numel(placement.stored_shape(array, position)));
  placement.for_each_region(array, position, {0, found.size()}, [&](ParameterId parameter, const Region& region) {
    const Shape extents = region.box.shape();
    const Shape weights = row_major_strides(placement.tensors()[parameter].shape);
    for (std::uint64_t i = 0; i < numel(extents); ++i) {
      ElementPlace place{placement.tensors()[parameter].name, 0, region.fill};
      std::uint64_t at = region.offset;
      std::uint64_t rest = i;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
        place.index += (region.box.lo[d] + rest % extents[d]) * weights[d];
        at += rest % extents[d] * region.strides[d];
      }
      found.at(at) = place;
    }
  });
  return found;
}

/// The same as text: "0 1 2+ _" for a tensor alone, "a0 a1 _ b0" in a bucket.
inline std::string shown(const Placement& placement, const std::string& array_name, Position position) {
  for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
    if (placement.arrays()[array].name != array_name || !placement.holds(position, array)) continue;
    std::string text;
    for (const auto& place : places(placement, array, position)) {
      text += text.empty() ? "" : " ";
      if (!place) {
        text += "_";
        continue;
      }
      text += (placement.arrays()[array].members.size() > 1 ? place->tensor : "") + std::to_string(place->index) +
              (place->fill ? "+" : "");
    }
    return text;
  }
  return "absent";
}

inline std::vector<std::string> shown(const Placement& placement, const std::string& array_name) {
  std::vector<std::string> all;
  for (Position position = 0; position < placement.mesh().size(); ++position)
    all.push_back(shown(placement, array_name, position));
  return all;
}

/// Rows of a stored shape on each card; -1 where it is absent.
inline std::vector<std::int64_t> rows(const Placement& placement, const std::string& array_name) {
  std::vector<std::int64_t> all;
  for (Position position = 0; position < placement.mesh().size(); ++position) {
    all.push_back(-1);
    for (ArrayId array = 0; array < placement.arrays().size(); ++array)
      if (placement.arrays()[array].name == array_name && placement.holds(position, array))
        all.back() = static_cast<std::int64_t>(placement.stored_shape(array, position)[0]);
  }
  return all;
}

using Words = std::vector<std::string>;

}  // namespace ckpt::fixture
