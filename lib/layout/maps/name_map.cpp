#include "layout/maps/name_map.hpp"

#include <algorithm>
#include <set>

#include "layout/language/form.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/maps/check_rule.hpp"

namespace ckpt {

std::optional<MapSide> NameMap::side(const std::string& name) const {
  const auto found = std::find(sides.begin(), sides.end(), name);
  if (found == sides.end()) return std::nullopt;
  return static_cast<MapSide>(found - sides.begin());
}

namespace {

using parsing::described;
using parsing::Node;
using parsing::ObjectForm;

constexpr std::size_t most_in_chain = 8;
constexpr std::size_t most_rules = 4096;

/// A map while it is read; what it is based on is read first, and its rules come last.
struct MapReading {
  NameMap map = {};
  std::vector<MapRule> of_base = {};
  const OpenMap* open = nullptr;
  std::vector<std::string> chain = {};  ///< names of the maps that led to this one

  std::set<std::string> size_names() const {
    std::set<std::string> names;
    for (const auto& [name, formulas] : map.sizes) names.insert(name);
    return names;
  }
};

NameMap read_map(const std::string& text, const std::string& origin, const OpenMap& open,
                 const std::vector<std::string>& chain);

std::string text_at(const Node& node) {
  if (!node.is_string()) node.fail("a text");
  return node.text();
}

MapSide side_of(const std::string& key, const Node& node, const NameMap& map) {
  const auto side = map.side(key);
  if (!side) node.fail("the key \"" + key + "\"", "one of \"" + map.sides[0] + "\", \"" + map.sides[1] + "\"");
  return *side;
}

void read_sides(const Node& node, MapReading& to) {
  const std::vector<Node> items = node.items();
  if (items.size() != 2) node.fail("a list of two names");
  for (const MapSide side : {0, 1}) {
    to.map.sides[side] = text_at(items[side]);
    for (const char* word : {"when", "times", "plus"})
      if (to.map.sides[side] == word) items[side].fail("a name that is no key of rules");
  }
  if (to.map.sides[0] == to.map.sides[1]) node.fail("two different names");
}

void read_base(const Node& node, MapReading& to) {
  const std::string name = text_at(node);
  std::vector<std::string> chain = to.chain;
  chain.push_back(name);
  if (std::find(to.chain.begin(), to.chain.end(), name) != to.chain.end() || chain.size() > most_in_chain)
    node.fail("a map that is based on itself: " + join(chain),
              "at most " + std::to_string(most_in_chain) + " maps in a row");
  const auto [text, origin] = node.told([&] { return (*to.open)(name); });
  NameMap base = read_map(text, origin, *to.open, chain);
  if (to.map.sides[0].empty()) to.map.sides = base.sides;
  if (base.sides != to.map.sides)
    node.fail("a map of the sides \"" + base.sides[0] + "\" and \"" + base.sides[1] + "\"",
              "\"" + to.map.sides[0] + "\" and \"" + to.map.sides[1] + "\"");
  to.of_base = std::move(base.rules);
  base.rules.clear();
  base.models.clear();
  base.origin = to.map.origin;
  base.texts.insert(base.texts.begin(), to.map.texts.begin(), to.map.texts.end());
  to.map = std::move(base);
}

Formula formula_at(const Node& node) {
  if (node.is_string()) return node.told([&] { return Formula(node.text()); });
  return Formula(std::to_string(node.number(1, ~std::uint64_t{0} >> 1)));
}

void read_sizes(const Node& node, MapReading& to) {
  const std::vector<std::string> names = node.keys();
  if (names.size() > most_rules)
    node.fail(std::to_string(names.size()) + " sizes", "at most " + std::to_string(most_rules));
  for (const std::string& name : names) {
    const Node value = node.member(name);
    std::vector<Formula> formulas;
    if (value.is_list())
      for (const Node& item : value.items()) formulas.push_back(formula_at(item));
    else
      formulas.push_back(formula_at(value));
    if (formulas.empty()) value.fail("at least one formula");
    to.map.sizes.insert_or_assign(name, std::move(formulas));
  }
}

void read_stack(const Node& node, MapReading& to) {
  for (const std::string& key : node.keys()) {
    const Node of_side = node.member(key);
    const MapSide side = side_of(key, node, to.map);
    for (const std::string& axis : of_side.keys()) {
      const Node value = of_side.member(axis);
      StackedNames names{side, axis, text_at(value), {}};
      const std::string capture = "{" + axis + "}";
      const std::size_t at = names.prefix.find(capture);
      if (at == std::string::npos || at + capture.size() + 1 != names.prefix.size())
        value.fail("a name that ends with " + capture + " and one more character");
      names.stacked = names.prefix.substr(0, at);
      if (!to.map.sizes.contains(axis)) value.fail("axis " + axis + ", which has no size", "one in \"sizes\"");
      to.map.stacks.push_back(std::move(names));
    }
  }
}

std::vector<Pattern> patterns_at(const Node& node) {
  std::vector<Pattern> patterns;
  for (const Node& item : node.items()) patterns.push_back(item.pattern());
  return patterns;
}

/// Reads patterns by side; those of the map itself come before those of its base.
void read_patterns(const Node& node, const NameMap& map, std::array<std::vector<Pattern>, 2>& to, bool are_states) {
  for (const std::string& key : node.keys()) {
    const MapSide side = side_of(key, node, map);
    std::vector<Pattern> patterns = patterns_at(node.member(key));
    for (const Pattern& pattern : patterns)
      if (are_states && (pattern.captures() != std::set<std::string>{"name", "state"} || pattern.has_wildcard()))
        node.member(key).fail("the pattern \"" + pattern.text() + "\"",
                              "one with {state} and {name}, and nothing else open");
    to[side].insert(to[side].begin(), patterns.begin(), patterns.end());
  }
}

/// Refuses a second name whose tensor is a second name itself, and so on until it is that of this one.
void check_tied(const TiedName& tied, const std::vector<TiedName>& known, const Node& node) {
  if (known.size() == most_rules) node.fail("more than " + std::to_string(most_rules) + " ties", "fewer");
  const TiedName* at = &tied;
  for (std::size_t i = 0; i < most_in_chain; ++i) {
    if (at->of.pattern() == tied.name.pattern())
      node.fail("a tie of \"" + tied.name.name() + "\" that leads back to it", "the tensor's name in \"tensors\"");
    const auto next = std::ranges::find_if(known, [&](const TiedName& each) {
      return each.side == tied.side && each.when.text() == tied.when.text() && each.name.pattern() == at->of.pattern();
    });
    if (next == known.end()) return;
    at = &*next;
  }
  node.fail("more than " + std::to_string(most_in_chain) + " ties in a row", "the tensor's name in \"tensors\"");
}

void read_tied_of(const Node& node, const std::set<std::string>& sizes, MapReading& to) {
  Formula when;
  if (const auto condition = node.find("when")) when = formula_at(*condition);
  for (const std::string& key : node.keys()) {
    if (key == "when") continue;
    const MapSide side = side_of(key, node, to.map);
    const Node of_side = node.member(key);
    for (const std::string& name : of_side.keys()) {
      const Node value = of_side.member(name);
      value.told([&] {
        TiedName tied{side, TensorTemplate(name, sizes), TensorTemplate(text_at(value), sizes), when};
        const std::vector<std::string> known = tied.name.axes_of(0);
        for (const std::string& axis : tied.of.axes_of(0))
          if (std::find(known.begin(), known.end(), axis) == known.end())
            value.fail("axis " + axis, "axes of \"" + name + "\"");
        check_tied(tied, to.map.tied, value);
        to.map.tied.push_back(std::move(tied));
      });
    }
  }
}

void read_tied(const Node& node, MapReading& to) {
  const std::set<std::string> sizes = to.size_names();
  if (!node.is_list()) return read_tied_of(node, sizes, to);
  for (const Node& item : node.items()) read_tied_of(item, sizes, to);
}

RealFormula real_formula_at(const Node& node, const std::set<std::string>& sizes) {
  RealFormula formula =
      node.told([&] { return RealFormula(node.is_string() ? node.text() : node.describe()); });  // or a number
  for (const std::string& name : formula.names())
    if (!sizes.contains(name)) node.fail("'" + name + "', which has no size", "one in \"sizes\"");
  return formula;
}

MapRule read_rule(const Node& node, const NameMap& map, const std::set<std::string>& sizes) {
  node.check_keys({map.sides[0], map.sides[1], "when", "times", "plus"}, {map.sides[0], map.sides[1]});
  MapRule rule;
  for (const auto& [word, formula] : {std::pair("times", &rule.times), std::pair("plus", &rule.plus)})
    if (const auto value = node.find(word)) *formula = real_formula_at(*value, sizes);
  rule.place = node.place();
  for (const MapSide side : {0, 1}) {
    const Node tensors = node.member(map.sides[side]);
    const auto add = [&](const Node& tensor) {
      rule.tensors[side].push_back(tensor.told([&] { return TensorTemplate(text_at(tensor), sizes); }));
    };
    if (tensors.is_list())
      for (const Node& tensor : tensors.items()) add(tensor);
    else
      add(tensors);
    if (rule.tensors[side].empty()) tensors.fail("at least one tensor");
  }
  if (const auto when = node.find("when")) rule.when = formula_at(*when);
  pair_pieces(rule, map.sides, sizes);
  const auto has_padding = [](const TensorTemplate& tensor) {
    return tensor.fused() != nullptr && tensor.fused()->is_padded();
  };
  for (const MapSide side : {0, 1})
    if (!rule.plus.text().empty() && std::ranges::any_of(rule.tensors[side], has_padding))
      node.member("plus").fail("\"plus\" for a tensor with padding", "\"times\" alone, which leaves zeros as they are");
  return rule;
}

void read_rules(const Node& node, MapReading& to) {
  const std::set<std::string> sizes = to.size_names();
  const std::vector<Node> items = node.items();
  if (items.size() + to.of_base.size() > most_rules)
    node.fail(std::to_string(items.size()) + " rules", "at most " + std::to_string(most_rules));
  for (const Node& item : items) to.map.rules.push_back(read_rule(item, to.map, sizes));
}

constexpr const char* text_schema = R"("type": "string", "minLength": 1)";
const std::string formula_schema =
    R"("oneOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}])";

std::string object_of(const std::string& schema) {
  return R"("type": "object", "additionalProperties": {)" + schema + "}";
}

/// An object with a condition beside keys for the sides. `more`: further properties.
std::string conditional(const std::string& condition, const std::string& schema, const std::string& more = {}) {
  return R"("type": "object", "properties": {"when": {)" + condition + "}" + more + R"(}, "additionalProperties": {)" +
         schema + "}";
}

void add_key(ObjectForm<MapReading>& form, const char* name, bool is_required, const char* says,
             const std::string& schema, void (*read)(const Node&, MapReading&)) {
  form.add({name, is_required, described(says, schema),
            [read](const Node& node, const Mesh&, MapReading& to) { read(node, to); },
            [](const MapReading&, const Mesh&) { return std::string(); }});
}

/// The keys about names and sizes, in the order in which they are read.
void add_names(ObjectForm<MapReading>& form) {
  const std::string texts = parsing::list_schema(text_schema);
  const std::string tied = conditional(text_schema, object_of(text_schema));
  add_key(form, "for", false, "The values of config.json's model_type that the map is for.", texts,
          [](const Node& node, MapReading& to) {
            for (const Node& item : node.items()) to.map.models.push_back(text_at(item));
          });
  add_key(
      form, "sizes", false,
      "How long each axis is: a number, a formula of config.json's fields and of other sizes, or a list of which the "
      "first counts whose fields are there.",
      object_of(R"("oneOf": [{"type": "integer", "minimum": 1}, {)" + std::string(text_schema) + "}, {" +
                parsing::list_schema(formula_schema, R"("minItems": 1)") + "}]"),
      read_sizes);
  add_key(form, "stack", false,
          "By side and axis: names whose number may be dimension 0 instead, for example decoder.layers.{l}.",
          object_of(object_of(text_schema)), read_stack);
  add_key(form, "states", false, "By side: patterns of {state} and {name} for a tensor's optimizer state.",
          object_of(texts), [](const Node& node, MapReading& to) { read_patterns(node, to.map, to.map.states, true); });
  add_key(form, "drop", false, "By side: names that only that side has, and that are no weights.", object_of(texts),
          [](const Node& node, MapReading& to) { read_patterns(node, to.map, to.map.drop, false); });
  add_key(form, "tied", false, "By side: second names of tensors, and under \"when\" the condition that they are.",
          R"("oneOf": [{)" + tied + "}, {" + parsing::list_schema(tied) + "}]", read_tied);
}

/// The language: each key of a map.
const ObjectForm<MapReading>& map_form() {
  static const auto form = [] {
    ObjectForm<MapReading> keys;
    const std::string number = R"(": {"oneOf": [{"type": "number"}, {)" + std::string(text_schema) + "}]}";
    const std::string arithmetic = R"(, "times)" + number + R"(, "plus)" + number;
    const std::string tensors = R"("oneOf": [{)" + std::string(text_schema) + "}, {" +
                                parsing::list_schema(text_schema, R"("minItems": 1)") + "}]";
    add_key(
        keys, "ckpt_names", true, "The version of the language.", R"("const": 1)", [](const Node& node, MapReading&) {
          if (node.number() != 1)
            node.fail("version " + node.describe(), "1, the only one that this program knows", "use a newer program");
        });
    add_key(keys, "sides", false,
            "The two systems whose names the map knows; where they are not said, those of its base.",
            parsing::list_schema(text_schema, R"("minItems": 2, "maxItems": 2)"), read_sides);
    add_key(keys, "base", false, "Another map's rules, which come after one's own.", text_schema, read_base);
    add_names(keys);
    add_key(
        keys, "tensors", true,
        "Rules. Each lists tensors of both sides that have the same elements: NAME [DIM, DIM]; a DIM is a product of "
        "axes, major first, in which one bracket lists pieces that lie one after another. \"times\" and \"plus\" "
        "recompute "
        "elements, from the first side to the second.",
        parsing::list_schema(conditional(formula_schema, tensors, arithmetic)), read_rules);
    add_key(keys, "$schema", false, "For editors; the programs pass it over.", text_schema,
            [](const Node& node, MapReading&) { text_at(node); });
    return keys;
  }();
  return form;
}

NameMap read_map(const std::string& text, const std::string& origin, const OpenMap& open,
                 const std::vector<std::string>& chain) {
  const auto document = parsing::parse_json(text, origin);
  MapReading reading{{}, {}, &open, chain};
  reading.map.origin = origin;
  reading.map.texts.emplace_back(origin, text);
  const Node root(document, origin);
  if (root.is_object() && !root.has("sides") && !root.has("base")) root.fail("no \"sides\"", "two names of systems");
  map_form().read(root, Mesh{}, reading);
  std::move(reading.of_base.begin(), reading.of_base.end(), std::back_inserter(reading.map.rules));
  return std::move(reading.map);
}

}  // namespace

NameMap parse_name_map(const std::string& json_text, const std::string& origin, const OpenMap& open) {
  return read_map(json_text, origin, open, {});
}

std::string name_map_schema() {
  const auto schema = nlohmann::ordered_json::parse(
      R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Map of names, version 1", )"
      R"("description": "How the tensors of one system are those of another. The program checks more than a schema can )"
      R"(say: that both sides of a rule have the same axes, and that each has a size.", )" +
      map_form().schema() + "}");
  return schema.dump(2) + "\n";
}

}  // namespace ckpt
