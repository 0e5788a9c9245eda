#include <algorithm>
#include <set>

#include "layout/language/parse_sections.hpp"

namespace ckpt::parsing {

namespace {

constexpr std::size_t max_axes = 32;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Axes are named on the command line and in file templates, so their names must not contain characters with a meaning
/// there.
bool is_axis_name(const std::string& name) {
  return is_letter(name.front()) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

std::vector<std::string> parse_axes(const Node& node) {
  std::vector<std::string> axes;
  for (const auto& item : node.items()) {
    auto name = item.text();
    if (!is_axis_name(name)) item.fail("a name of letters, digits, _, - and . that starts with a letter");
    if (std::find(axes.begin(), axes.end(), name) != axes.end())
      item.fail("the axis " + item.describe() + " a second time", "each name once");
    axes.push_back(std::move(name));
    if (axes.size() > max_axes) node.fail("at most 32 axes");
  }
  if (axes.empty()) node.fail("the name of one axis at least");
  return axes;
}

std::vector<std::uint64_t> parse_cards(const Node& node, std::uint64_t size) {
  auto cards = node.numbers();
  if (cards.size() != size)
    node.fail(std::to_string(cards.size()) + " cards", std::to_string(size) + ", one for each position of the mesh");
  auto sorted = cards;
  std::sort(sorted.begin(), sorted.end());
  const auto same = std::adjacent_find(sorted.begin(), sorted.end());
  if (same != sorted.end()) node.fail("card " + std::to_string(*same) + " twice", "each card id once");
  const bool is_default = cards == sorted && cards.front() == 0 && cards.back() == size - 1;
  return is_default ? std::vector<std::uint64_t>{} : cards;
}

}  // namespace

Mesh parse_mesh(const Node& node) {
  node.check_keys({"axes", "shape", "cards"}, 2);
  Mesh mesh;
  mesh.axes = parse_axes(node.member("axes"));
  const auto shape = node.member("shape");
  mesh.shape = shape.numbers(1);
  if (mesh.shape.size() != mesh.axes.size())
    shape.fail(std::to_string(mesh.shape.size()) + " sizes", std::to_string(mesh.axes.size()) + ", one for each axis");
  const auto size = product(mesh.shape);
  if (!size || *size > max_cards)
    shape.fail(size ? std::to_string(*size) + " cards" : "a mesh of 2^64 cards or more",
               "at most " + std::to_string(max_cards) + " cards");
  if (const auto cards = node.find("cards")) mesh.cards = parse_cards(*cards, *size);
  return mesh;
}

}  // namespace ckpt::parsing
