#include <algorithm>
#include <set>

#include "layout/language/form.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/language/rule_json.hpp"

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

std::vector<std::string> parse_axes(const Node& node, const Mesh& /*mesh*/) {
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

std::vector<std::uint64_t> parse_sizes(const Node& node, const Mesh& mesh) {
  auto sizes = node.numbers(1);
  if (sizes.size() != mesh.axes.size())
    node.fail(std::to_string(sizes.size()) + " sizes", std::to_string(mesh.axes.size()) + ", one for each axis");
  const auto size = product(sizes);
  if (!size || *size > max_cards)
    node.fail(size ? std::to_string(*size) + " cards" : "a mesh of 2^64 cards or more",
              "at most " + std::to_string(max_cards) + " cards");
  return sizes;
}

std::vector<std::uint64_t> parse_cards(const Node& node, const Mesh& mesh) {
  const std::uint64_t size = mesh.size();
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

const Form<Mesh>& mesh_form() {
  static const Form<Mesh> form = [] {
    // Sizes and cards are checked against the keys before them: the mesh that is being read.
    const Form<std::vector<std::string>> axes{
        list_schema(axis().schema, R"("minItems": 1, "maxItems": 32, "uniqueItems": true)"), parse_axes,
        list_of(text()).write};
    Form<std::vector<std::uint64_t>> shape = numbers(R"("minItems": 1, "maxItems": 32)", number(1, max_cards));
    Form<std::vector<std::uint64_t>> cards = numbers(R"("minItems": 1, "maxItems": 1048576, "uniqueItems": true)");
    shape.read = parse_sizes;
    cards.read = parse_cards;
    const auto keys = ObjectForm<Mesh>()
                          .required("axes", &Mesh::axes, axes, "Unique names.")
                          .required("shape", &Mesh::shape, shape,
                                    "The size of each axis; the product is the number of cards, at most 1048576.")
                          .optional("cards", &Mesh::cards, cards, "The card id at each position; default 0 to N-1.");
    auto whole = keys.form();
    whole.read = [keys](const Node& node, const Mesh&) {
      Mesh mesh;
      keys.read(node, mesh, mesh);
      return mesh;
    };
    return whole;
  }();
  return form;
}

}  // namespace ckpt::parsing

namespace ckpt {

std::string to_json(const Mesh& mesh) {
  return parsing::mesh_form().write(mesh, mesh);
}

}  // namespace ckpt
