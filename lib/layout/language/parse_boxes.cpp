#include <algorithm>

#include "base/text.hpp"
#include "layout/language/parse_keys.hpp"
#include "layout/placement/box_cover.hpp"

namespace ckpt::parsing {

namespace {

Box parse_box(const Node& node) {
  const auto items = node.items();
  if (items.size() > max_rank) node.fail("at most 32 dimensions");
  Box box{Shape(items.size()), Shape(items.size())};
  for (std::size_t d = 0; d < items.size(); ++d) {
    const auto ends = items[d].numbers();
    if (ends.size() != 2 || ends[0] > ends[1]) items[d].fail("[first, end], the end not below the first");
    box.set(d, {ends[0], ends[1]});
  }
  return box;
}

Boxes parse_boxes(const Node& node, const Mesh& /*mesh*/) {
  Boxes boxes;
  for (const auto& key : node.keys()) {
    const Node entry = node.member(key);
    const std::uint64_t card = node.card_id(key);
    const Box& box = boxes[card] = parse_box(entry);
    if (const std::size_t rank = boxes.begin()->second.rank(); box.rank() != rank)
      entry.fail("a box of " + std::to_string(box.rank()) + " dimensions",
                 std::to_string(rank) + ", as that of card " + std::to_string(boxes.begin()->first) + " has");
  }
  if (boxes.empty()) node.fail("the box of one card at least");
  return boxes;
}

std::string boxes_of(const Boxes& boxes, const Mesh& /*mesh*/) {
  const auto ends = [](Interval side) { return "[" + std::to_string(side.lo) + ", " + std::to_string(side.hi) + "]"; };
  return members(boxes, [&](const Box& box) {
    std::vector<Interval> sides;
    for (std::size_t d = 0; d < box.rank(); ++d) sides.push_back(box[d]);
    return listed(sides, ends);
  });
}

}  // namespace

const Form<Boxes>& boxes_form() {
  static const Form<Boxes> form{
      R"("type": "object", "patternProperties": {"^(0|[1-9][0-9]{0,19})$": {)" +
          list_schema(list_schema(natural().schema, R"("minItems": 2, "maxItems": 2)"), R"("maxItems": 32)") +
          R"(}}, "additionalProperties": false, "minProperties": 1)",
      parse_boxes, boxes_of};
  return form;
}

const Form<std::vector<std::uint64_t>>& grid_form() {
  static const auto form = [] {
    const Form<std::uint64_t> pieces{
        "\"anyOf\": [{" + positive().schema + R"(}, {"type": "null"}])",
        [](const Node& node, const Mesh&) { return node.is_null() ? 0 : node.number(1); },
        [](std::uint64_t count, const Mesh&) { return count == 0 ? "null" : std::to_string(count); }};
    return list_of(pieces, R"("maxItems": 32)");
  }();
  return form;
}

void check_boxes(const Node& rule, const Keys& keys, const Mesh& mesh) {
  const Node place = rule.member("boxes");
  if (keys.grid && keys.shape)
    for (std::size_t d = 0; d < keys.grid->size(); ++d)
      if (const std::uint64_t pieces = (*keys.grid)[d]; pieces != 0 && (*keys.shape)[d] % pieces != 0)
        rule.member("shape").fail(format_list(*keys.shape),
                                  "extents that \"grid\" divides: " + format_list(*keys.grid));
  Shape shape = keys.shape && !keys.grid ? Shape(*keys.shape) : BoxCover::reach(*keys.boxes);
  for (std::size_t d = 0; keys.grid && d < keys.grid->size(); ++d)
    if (const std::uint64_t pieces = (*keys.grid)[d]; pieces != 0)
      shape[d] = pieces;
    else if (keys.shape)
      shape[d] = (*keys.shape)[d];
  const Shape reach = BoxCover::reach(*keys.boxes);
  if (keys.pad)
    for (const auto& [dim, pad] : *keys.pad) shape[dim] = std::max(pad.size, reach[dim]);
  if (!product({shape.begin(), shape.end()})) place.fail("boxes of 2^64 elements or more together", "fewer");
  try {
    BoxCover(*keys.boxes, shape, mesh);
  } catch (const Error& error) {
    place.fail("\"boxes\" of which " + error.text().found,
               "boxes that hold each element once; replicas are the same box again");
  }
}

}  // namespace ckpt::parsing
