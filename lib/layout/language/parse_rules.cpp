#include <string>
#include <utility>

#include "layout/language/form.hpp"
#include "layout/language/parse_keys.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/names/card_words.hpp"

namespace ckpt::parsing {

namespace {

// A pattern whose only open parts are captures, and one that may have coordinates of the card, too.
constexpr std::string_view filled_schema =
    R"("$ref": {"name": "filled", "schema": {"description": "A pattern whose only open parts are captures: {x}.", )"
    R"("type": "string", "maxLength": 4096, "pattern": "^([^*?\\[{\\u0000]|\\{[A-Za-z0-9_]+\\}|\\[[^\\u0000]\\])+$"}})";
constexpr std::string_view stored_schema =
    R"("description": "A pattern whose only open parts are captures and coordinates of the card: {x}, {card}, {tp:02}.", )"
    R"("type": "string", "maxLength": 4096, )"
    R"("pattern": "^([^*?\\[{\\u0000]|\\{[A-Za-z_0-9][A-Za-z0-9_.-]*(:0([1-9]|1[0-9]|20))?\\}|\\[[^\\u0000]\\])+$")";

/// Boxes replace all keys that cut.
constexpr std::string_view boxes_conditions =
    R"("dependentRequired": {"grid": ["boxes"]}, "if": {"required": ["boxes"]}, "then": {"not": {"anyOf": [)"
    R"({"required": ["split"]}, {"required": ["uneven"]}, {"required": ["sizes"]}, {"required": ["parts"]}, )"
    R"({"required": ["pad", "grid"]}, {"required": ["flat"]}, {"required": ["at"]}]}, "properties": {"pad": )"
    R"({"additionalProperties": {"properties": {"multiple_of": {"const": 1}, "fill": {"const": "zero"}}}}}})";

std::string braced(const std::string& capture) {
  return "{" + capture + "}";
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

/// The name of another parameter, for example `like`.
ObjectForm<Rule>::Key other_key(const char* name, std::optional<Pattern> Rule::*member, const char* purpose,
                                std::string_view says) {
  return {name, false, described(says, std::string(filled_schema)),
          [=](const Node& node, const Mesh&, Rule& rule) { rule.*member = parse_other(node, rule.names, purpose); },
          [=](const Rule& rule, const Mesh&) { return rule.*member ? json_string((rule.*member)->text()) : ""; }};
}

void parse_stored(const Node& node, const Mesh& mesh, Rename& rename) {
  const auto of_card =
      with_context(node.place(), [&] { return CardPattern::parse(node.text(), mesh, rename.name.captures()); });
  rename.stored = of_card ? of_card->alike() : node.pattern();
  if (of_card) rename.of_card = node.text();
}

void check_rename(const Node& item, const Mesh& mesh, Rename& rename) {
  parse_stored(item.member("stored"), mesh, rename);
  for (const bool is_stored : {true, false}) {
    const auto& pattern = is_stored ? rename.stored : rename.name;
    const auto& other = is_stored ? rename.name : rename.stored;
    const auto place = item.member(is_stored ? "stored" : "name");
    if (pattern.has_wildcard())
      place.fail(place.describe() + " with a wildcard", "captures only, for a name must be made from either side",
                 "write {x} in both instead of *");
    const auto capture = unshared(pattern, other);
    if (!capture.empty())
      place.fail("the capture " + braced(capture) + ", which \"" + other.text() + "\" has not",
                 "the same captures on both sides",
                 is_stored ? "in it alone may stand coordinates of the card, whose name it is: " + words_of(mesh) : "");
  }
}

}  // namespace

const Form<std::vector<Rule>>& rules_form() {
  static const auto form = [] {
    ObjectForm<Rule> keys;
    keys.required("name", &Rule::names,
                  one_or_list(glob(), "a name, or a list of names that is not empty", R"("minItems": 1)"));
    keys.take(&Rule::keys, keys_form(),
              {"split", "uneven", "sizes", "parts", "pad", "flat", "shape", "permute", "at", "boxes", "grid"});
    keys.add(other_key("like", &Rule::like, "whose rule is borrowed",
                       "Use the rule of another logical name, with captures filled in."));
    keys.add(other_key("equals", &Rule::equals, "which has the same values",
                       "The parameter that has the same values, rounded to its dtype: compared as replicas are."));
    keys.take(&Rule::keys, keys_form(), {"replicas"});
    keys.checked([](const Node& node, const Mesh& mesh,
                    Rule& rule) { check_keys(node, mesh, rule.keys, rule.like.has_value()); },
                 boxes_conditions);
    // Keys with their default values mean something only where others are borrowed, which they override.
    const auto write = [keys](const Rule& rule, const Mesh& mesh) {
      if (rule.like) return keys.write(rule, mesh);
      Rule plain = rule;
      plain.keys = rule.keys.plain();
      return keys.write(plain, mesh);
    };
    const auto whole = keys.form().named("rule");
    return Form<std::vector<Rule>>{list_schema(whole.schema),
                                   [read = list_of(whole).read](const Node& node, const Mesh& mesh) {
                                     auto rules = read(node, mesh);
                                     check_like_cycles(node, rules);
                                     return rules;
                                   },
                                   [write](const std::vector<Rule>& rules, const Mesh& mesh) {
                                     return lines(rules, [&](const Rule& rule) { return write(rule, mesh); });
                                   }};
  }();
  return form;
}

const Form<std::vector<Rename>>& renames_form() {
  static const auto form = lines_of(
      ObjectForm<Rename>()
          .add({"stored", true, std::string(stored_schema), [](const Node&, const Mesh&, Rename&) {},
                [](const Rename& rename, const Mesh&) {
                  return json_string(rename.of_card.empty() ? rename.stored.text() : rename.of_card);
                }})
          .required("name", &Rename::name, Form<Pattern>{std::string(filled_schema), glob().read, glob().write})
          .checked(check_rename)
          .form());
  return form;
}

}  // namespace ckpt::parsing
