#include "layout/language/parse_keys.hpp"

#include <algorithm>
#include <set>

#include "layout/language/keys_together.hpp"

namespace ckpt::parsing {

namespace {

using Split = std::vector<std::vector<Axis>>;

Split parse_split(const Node& node, const Mesh& mesh) {
  Split split;
  std::set<Axis> used;
  const auto add = [&](const Node& name) {
    const Axis axis = name.axis(mesh);
    if (!used.insert(axis).second)
      name.fail("the axis " + name.describe() + " a second time", "each axis to split at most one dimension");
    split.back().push_back(axis);
  };
  for (const auto& entry : node.items()) {
    split.emplace_back();
    if (entry.is_null()) continue;
    if (entry.is_string()) {
      add(entry);
    } else if (entry.is_list()) {
      for (const auto& name : entry.items()) add(name);
    } else {
      entry.fail("null, an axis, or a list of axes");
    }
  }
  if (split.size() > max_rank) node.fail("at most 32 dimensions");
  return split;
}

std::map<std::size_t, std::vector<std::uint64_t>> parse_sizes(const Node& node) {
  std::map<std::size_t, std::vector<std::uint64_t>> result;
  for (const auto& key : node.keys()) {
    const auto list = node.member(key);
    const auto& sizes = result[node.dimension_key(key)] = list.numbers();
    if (sizes.empty()) list.fail("a size for each shard");
    if (!sum(sizes)) list.fail("sizes whose sum is 2^64 or more", "a dimension below 2^64");
  }
  return result;
}

Parts parse_parts(const Node& node) {
  node.check_keys({"dim", "sizes", "count"}, 1);
  Parts parts;
  parts.dim = node.member("dim").number(0, max_rank - 1);
  const auto sizes = node.find("sizes");
  const auto count = node.find("count");
  if (sizes.has_value() == count.has_value())
    node.fail(sizes ? R"(both "sizes" and "count")" : R"(neither "sizes" nor "count")", "one of the two");
  if (count) parts.count = count->number(1, max_parts);
  if (sizes) {
    parts.sizes = sizes->numbers();
    if (parts.sizes.empty() || parts.sizes.size() > max_parts)
      sizes->fail("a size for each part, at most 1048576 of them");
    if (!sum(parts.sizes)) sizes->fail("sizes whose sum is 2^64 or more", "a dimension below 2^64");
  }
  return parts;
}

std::map<std::size_t, Pad> parse_pad(const Node& node) {
  std::map<std::size_t, Pad> result;
  for (const auto& key : node.keys()) {
    const auto entry = node.member(key);
    entry.check_keys({"size", "multiple_of", "fill"}, 1);
    Pad& pad = result[node.dimension_key(key)];
    pad.size = entry.member("size").number();
    if (const auto multiple = entry.find("multiple_of")) pad.multiple_of = multiple->number(1);
    if (const auto fill = entry.find("fill")) pad.fill = fill->word(fill_words);
  }
  return result;
}

Flat parse_flat(const Node& node, const Mesh& mesh) {
  node.check_keys({"axis", "multiple_of"}, 1);
  Flat flat{node.member("axis").axis(mesh)};
  if (const auto multiple = node.find("multiple_of")) {
    flat.multiple_of = multiple->number(1);
    if (!product({flat.multiple_of, mesh.shape[flat.axis]}))
      multiple->fail("a number whose product with the axis size is below 2^64");
  }
  return flat;
}

std::vector<std::size_t> parse_permute(const Node& node) {
  const auto order = node.numbers();
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != i || i >= max_rank) node.fail("each dimension from 0 on once, at most 32: [1, 0] transposes");
  return {order.begin(), order.end()};
}

bool is_last(const Node& node) {
  return node.is_string() && node.text() == "last";
}

std::uint64_t parse_coordinate(const Node& node, std::uint64_t last) {
  if (node.is_string()) node.fail("a coordinate of the axis, 0 to " + std::to_string(last) + ", or \"last\"");
  return node.number(0, last);
}

/// Parses a list of numbers, in which "last" may occur once; it may be the only item, which gives an empty result.
std::vector<std::uint64_t> parse_coordinates(const Node& list, std::uint64_t last) {
  const auto items = list.items();
  if (items.empty()) list.fail("a coordinate of the axis, or a list of them that is not empty");
  if (std::count_if(items.begin(), items.end(), is_last) > 1) list.fail("\"last\" twice", "each coordinate once");
  std::vector<std::uint64_t> coordinates;
  for (const auto& item : items)
    if (!is_last(item)) coordinates.push_back(parse_coordinate(item, last));
  std::sort(coordinates.begin(), coordinates.end());
  const auto same = std::adjacent_find(coordinates.begin(), coordinates.end());
  if (same != coordinates.end()) list.fail("the coordinate " + std::to_string(*same) + " twice", "each once");
  return coordinates;
}

}  // namespace

std::vector<std::uint64_t> parse_shape(const Node& node) {
  auto shape = node.numbers();
  if (shape.size() > max_rank) node.fail("at most 32 dimensions");
  if (!product(shape)) node.fail("a shape of 2^64 elements or more", "fewer");
  return shape;
}

ParsedAt parse_at(const Node& node, const Mesh& mesh) {
  ParsedAt parsed;
  for (const auto& key : node.keys()) {
    const Axis axis = node.axis_key(key, mesh);
    const std::uint64_t last = mesh.shape[axis] - 1;
    const Node value = node.member(key);
    const auto items = value.is_list() ? value.items() : std::vector<Node>{value};
    auto& coordinates = parsed.at[axis];
    if (value.is_list())
      coordinates = parse_coordinates(value, last);
    else if (!is_last(value))
      coordinates = {parse_coordinate(value, last)};
    if (std::none_of(items.begin(), items.end(), is_last)) continue;
    parsed.last[axis] = coordinates;
    // The number itself may be given beside "last": on an axis of size 1, the first is the last.
    if (coordinates.empty() || coordinates.back() != last) coordinates.push_back(last);
  }
  return parsed;
}

Keys parse_keys(const Node& node, const Mesh& mesh, bool borrows) {
  Keys keys;
  if (const auto split = node.find("split")) keys.split = parse_split(*split, mesh);
  if (const auto uneven = node.find("uneven")) keys.uneven = uneven->word(uneven_words);
  if (const auto sizes = node.find("sizes")) keys.sizes = parse_sizes(*sizes);
  if (const auto parts = node.find("parts")) keys.parts = parse_parts(*parts);
  if (const auto pad = node.find("pad")) keys.pad = parse_pad(*pad);
  if (const auto flat = node.find("flat")) keys.flat = parse_flat(*flat, mesh);
  if (const auto shape = node.find("shape")) keys.shape = parse_shape(*shape);
  if (const auto permute = node.find("permute")) keys.permute = parse_permute(*permute);
  if (const auto at = node.find("at")) {
    ParsedAt parsed = parse_at(*at, mesh);
    keys.at = std::move(parsed.at);
    keys.at_last = std::move(parsed.last);
  }
  if (const auto replicas = node.find("replicas")) keys.replicas = replicas->word(replicas_words);
  if (const auto boxes = node.find("boxes")) keys.boxes = std::make_shared<const Boxes>(parse_boxes(*boxes));
  if (const auto grid = node.find("grid")) keys.grid = parse_grid(*grid);
  check_keys_together(keys, {mesh, std::nullopt, !borrows}, [&](const auto& path, const auto& found, const auto& what) {
    Node place = node;
    for (const std::string& key : path) place = place.member(key);
    place.fail(found, what);
  });
  if (keys.boxes) check_boxes(node, keys, mesh);
  return keys;
}

}  // namespace ckpt::parsing
