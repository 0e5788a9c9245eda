#include "layout/language/parse_keys.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "layout/language/keys_together.hpp"
#include "layout/language/rule_json.hpp"
#include "tensor/shape.hpp"

namespace ckpt::parsing {

namespace {

/// Limit on the parts of one fused dimension: far above any model, far below what would exhaust memory.
constexpr std::uint64_t max_parts = std::uint64_t{1} << 20;

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

std::string split_of(const Split& split, const Mesh& mesh) {
  static const auto axes_of = list_of(axis()).write;
  return listed(split, [&](const std::vector<Axis>& axes) {
    return axes.empty() ? "null" : axes.size() == 1 ? axis().write(axes.front(), mesh) : axes_of(axes, mesh);
  });
}

Form<Split> split_form() {
  return Form<Split>{
      described(
          "One entry for each tensor dimension: null or [] (not split), an axis, or a list of axes, major first. A "
          "shorter list leaves the rest unsplit.",
          list_schema("\"oneOf\": [{\"type\": \"null\"}, {" + axis().schema + "}, {" +
                          list_schema(axis().schema, R"("uniqueItems": true)") + "}]",
                      R"("maxItems": 32)")),
      parse_split, split_of}
      .named("split");
}

/// Sizes of pieces, whose sum is a dimension. `expected`: what an empty list, or one of too many, is not.
Form<std::vector<std::uint64_t>> sizes_form(const std::string& expected, std::uint64_t most) {
  auto form = numbers(R"("minItems": 1)").named("sizes");
  form.read = [=](const Node& node, const Mesh&) {
    auto sizes = node.numbers();
    if (sizes.empty() || sizes.size() > most) node.fail(expected);
    if (!sum(sizes)) node.fail("sizes whose sum is 2^64 or more", "a dimension below 2^64");
    return sizes;
  };
  return form;
}

Form<Parts> parts_form() {
  const auto check = [](const Node& node, const Mesh&, Parts&) {
    const bool has_sizes = node.has("sizes");
    if (has_sizes == node.has("count"))
      node.fail(has_sizes ? R"(both "sizes" and "count")" : R"(neither "sizes" nor "count")", "one of the two");
  };
  return ObjectForm<Parts>()
      .required("dim", &Parts::dim, number(0, max_rank - 1))
      .optional("sizes", &Parts::sizes, sizes_form("a size for each part, at most 1048576 of them", max_parts))
      .optional("count", &Parts::count, number(1, max_parts))
      .checked(check, R"("oneOf": [{"required": ["sizes"]}, {"required": ["count"]}])")
      .form()
      .named("parts");
}

Form<Pad> pad_form() {
  return ObjectForm<Pad>()
      .required("size", &Pad::size, natural(), "The logical size.")
      .optional("multiple_of", &Pad::multiple_of, positive())
      .optional("fill", &Pad::fill, word(fill_words))
      .form()
      .named("pad");
}

Form<Flat> flat_form() {
  const auto check = [](const Node& node, const Mesh& mesh, Flat& flat) {
    if (!product({flat.multiple_of, mesh.shape[flat.axis]}))
      node.member("multiple_of").fail("a number whose product with the axis size is below 2^64");
  };
  return ObjectForm<Flat>()
      .required("axis", &Flat::axis, axis())
      .optional("multiple_of", &Flat::multiple_of, positive())
      .checked(check)
      .form()
      .named("flat");
}

Form<std::vector<std::size_t>> permute_form() {
  auto form = numbers(R"("maxItems": 32, "uniqueItems": true)", number(0, max_rank - 1)).named("permute");
  form.read = [](const Node& node, const Mesh&) {
    auto order = node.numbers();
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != i || i >= max_rank) node.fail("each dimension from 0 on once, at most 32: [1, 0] transposes");
    return order;
  };
  return form;
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

std::string at_of(const ParsedAt& at, const Mesh& mesh) {
  std::vector<std::string> keys;
  for (const auto& [axis, all] : at.at) {
    const auto beside = at.last.find(axis);
    std::vector<std::string> words;
    for (const auto coordinate : beside == at.last.end() ? all : beside->second)
      words.push_back(std::to_string(coordinate));
    if (beside != at.last.end()) words.push_back(json_string("last"));
    const std::string value = words.size() == 1 ? words.front() : "[" + join(words, words.size()) + "]";
    keys.push_back(json_string(mesh.axes[axis]) + ": " + value);
  }
  return "{" + join(keys, keys.size()) + "}";
}

}  // namespace

const Form<std::vector<std::uint64_t>>& shape_form() {
  static const auto form = [] {
    auto shape = numbers(R"("maxItems": 32)").named("shape");
    shape.read = [](const Node& node, const Mesh&) {
      auto extents = node.numbers();
      if (extents.size() > max_rank) node.fail("at most 32 dimensions");
      if (!product(extents)) node.fail("a shape of 2^64 elements or more", "fewer");
      return extents;
    };
    return shape;
  }();
  return form;
}

const Form<ParsedAt>& at_form() {
  static const auto form = [] {
    const std::string coordinate =
        R"("$ref": {"name": "coordinate", "schema": {)" +
        described(R"(A coordinate on an axis; "last" is the highest, whatever the axis' size.)",
                  "\"oneOf\": [{" + natural().schema + R"(}, {"const": "last"}]}})");
    return Form<ParsedAt>{described("Only the cards with these coordinates hold it.",
                                    R"("type": "object", "propertyNames": {)" + axis().schema +
                                        R"(}, "additionalProperties": {"oneOf": [{)" + coordinate + "}, {" +
                                        list_schema(coordinate, R"("minItems": 1, "uniqueItems": true)") + "}]}"),
                          parse_at, at_of}
        .named("at");
  }();
  return form;
}

const ObjectForm<Keys>& keys_form() {
  static const auto form =
      ObjectForm<Keys>()
          .optional("split", &Keys::split, split_form())
          .optional("uneven", &Keys::uneven, word(uneven_words), "How n elements are cut k ways.")
          .optional("sizes", &Keys::sizes, by_dimension(sizes_form("a size for each shard", ~std::uint64_t{0})),
                    "Explicit shard sizes, by dimension.")
          .optional("parts", &Keys::parts, parts_form(),
                    "A fused dimension: each part is split by itself, and a card stores its pieces in order.")
          .optional("pad", &Keys::pad, by_dimension(pad_form()),
                    "The logical size of a dimension whose stored shards are padded.")
          .optional(
              "flat", &Keys::flat, flat_form(),
              "What split leaves is flattened, zero-padded and cut into equal pieces over an axis; for a bucket's "
              "member over the bucket's, before the pieces are laid end to end.")
          .optional("shape", &Keys::shape, shape_form(), "The logical shape.")
          .optional("permute", &Keys::permute, permute_form(),
                    "The stored array's dimensions as logical ones: [1, 0] for a transposed weight.")
          .add(at_key<Keys>())
          .optional(
              "boxes", &Keys::boxes, boxes_form(),
              "What each card holds, by card id: [first, end) in each dimension, and zeros beyond the size that pad "
              "says. Cards not named hold nothing.")
          .optional("grid", &Keys::grid, grid_form(),
                    "The boxes count pieces, not elements: so many equal ones in each dimension, whatever the shape; "
                    "elements where null stands.")
          .optional("replicas", &Keys::replicas, word(replicas_words),
                    "check: replicas must be the same bytes; first: the lowest card's are taken.");
  return form;
}

void check_keys(const Node& node, const Mesh& mesh, Keys& keys, bool borrows) {
  check_keys_together(keys, {mesh, std::nullopt, !borrows}, [&](const auto& path, const auto& found, const auto& what) {
    Node place = node;
    for (const std::string& key : path) place = place.member(key);
    place.fail(found, what);
  });
  if (keys.boxes) check_boxes(node, keys, mesh);
  if (!borrows) keys = keys.plain();
}

}  // namespace ckpt::parsing

namespace ckpt {

std::string to_json(const Keys& keys, const Mesh& mesh) {
  return parsing::keys_form().write(keys.plain(), mesh);
}

}  // namespace ckpt
