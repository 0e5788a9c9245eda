#include <string>
#include <utility>

#include "layout/language/parse_keys.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/names/card_words.hpp"

namespace ckpt::parsing {

namespace {

std::string braced(const std::string& capture) {
  return "{" + capture + "}";
}

std::vector<Pattern> parse_names(const Node& node) {
  if (!node.is_list()) return {node.pattern()};
  std::vector<Pattern> names;
  for (const auto& item : node.items()) names.push_back(item.pattern());
  if (names.empty()) node.fail("a name, or a list of names that is not empty");
  return names;
}

/// Parses the name of another parameter, which consists of captures of the rule's names. `what`: the purpose of that
/// name.
Pattern parse_other(const Node& node, const std::vector<Pattern>& names, const std::string& what) {
  auto other = node.pattern();
  if (other.has_wildcard())
    node.fail(node.describe() + " with a wildcard", "a name whose only open parts are captures of \"name\"",
              "capture what is to be kept: {x} in both");
  for (const auto& name : names) {
    for (const auto& capture : other.captures())
      if (!name.captures().contains(capture))
        node.fail("the capture " + braced(capture), R"(captures that "name" has in ")" + name.text() + "\"");
    if (name.text() == other.text()) node.fail(node.describe() + ", the rule's own name", "another parameter, " + what);
  }
  return other;
}

/// Returns a capture that only one side of a rename has.
std::string unshared(const Pattern& has, const Pattern& lacks) {
  for (const auto& capture : has.captures())
    if (!lacks.captures().contains(capture)) return capture;
  return {};
}

/// Returns the words in braces that may stand for a coordinate of the card.
std::string words_of(const Mesh& mesh) {
  std::string words = "{card}";
  for (const std::string& axis : mesh.axes)
    if (axis != "card") words += ", " + braced(axis);
  return words;
}

Rename parse_rename(const Node& item, const Mesh& mesh) {
  const Pattern name = item.member("name").pattern();
  const Node stored = item.member("stored");
  const auto of_card =
      with_context(stored.place(), [&] { return CardPattern::parse(stored.text(), mesh, name.captures()); });
  if (of_card) return {of_card->alike(), name, stored.text()};
  return {stored.pattern(), name};
}

}  // namespace

std::vector<Rule> parse_rules(const Node& node, const Mesh& mesh) {
  std::vector<Rule> rules;
  for (const auto& item : node.items()) {
    item.check_keys({"name", "split", "uneven", "sizes", "parts", "pad", "flat", "shape", "permute", "at", "boxes",
                     "grid", "like", "equals", "replicas"},
                    1);
    Rule rule;
    rule.names = parse_names(item.member("name"));
    if (const auto like = item.find("like")) rule.like = parse_other(*like, rule.names, "whose rule is borrowed");
    if (const auto equals = item.find("equals"))
      rule.equals = parse_other(*equals, rule.names, "which has the same values");
    rule.keys = parse_keys(item, mesh, rule.like.has_value());
    rules.push_back(std::move(rule));
  }
  check_like_cycles(node, rules);
  return rules;
}

std::vector<Rename> parse_renames(const Node& node, const Mesh& mesh) {
  std::vector<Rename> renames;
  for (const auto& item : node.items()) {
    item.check_keys({"stored", "name"}, 2);
    const Rename rename = parse_rename(item, mesh);
    for (const auto* key : {"stored", "name"}) {
      const auto& pattern = key == std::string("stored") ? rename.stored : rename.name;
      const auto& other = key == std::string("stored") ? rename.name : rename.stored;
      const auto place = item.member(key);
      if (pattern.has_wildcard())
        place.fail(place.describe() + " with a wildcard", "captures only, for a name must be made from either side",
                   "write {x} in both instead of *");
      const auto capture = unshared(pattern, other);
      if (!capture.empty())
        place.fail("the capture " + braced(capture) + ", which \"" + other.text() + "\" has not",
                   "the same captures on both sides",
                   key == std::string("stored")
                       ? "in it alone may stand coordinates of the card, whose name it is: " + words_of(mesh)
                       : "");
    }
    renames.push_back(rename);
  }
  return renames;
}

}  // namespace ckpt::parsing
