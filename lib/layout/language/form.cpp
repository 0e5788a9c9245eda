#include "layout/language/form.hpp"

namespace ckpt::parsing {

std::string described(std::string_view says, const std::string& schema) {
  return says.empty() ? schema : "\"description\": " + json_string(says) + ", " + schema;
}

std::string list_schema(const std::string& item, std::string_view limits) {
  return R"("type": "array", "items": {)" + item + "}" + (limits.empty() ? "" : ", ") + std::string(limits);
}

Form<std::uint64_t> number(std::uint64_t least, std::uint64_t most) {
  return {R"("type": "integer", "minimum": )" + std::to_string(least) + ", \"maximum\": " + std::to_string(most),
          [=](const Node& node, const Mesh&) { return node.number(least, most); },
          [](std::uint64_t value, const Mesh&) { return std::to_string(value); }};
}

const Form<std::uint64_t>& natural() {
  static const auto form = number(0, ~std::uint64_t{0}).named("natural");
  return form;
}

const Form<std::uint64_t>& positive() {
  static const auto form = number(1, ~std::uint64_t{0}).named("positive");
  return form;
}

Form<std::vector<std::uint64_t>> numbers(std::string_view limits, const Form<std::uint64_t>& item) {
  return {list_schema(item.schema, limits), [](const Node& node, const Mesh&) { return node.numbers(); },
          [](const std::vector<std::uint64_t>& values, const Mesh&) {
            return listed(values, [](std::uint64_t value) { return std::to_string(value); });
          }};
}

const Form<bool>& truth() {
  static const Form<bool> form{R"("type": "boolean")", [](const Node& node, const Mesh&) { return node.truth(); },
                               [](bool value, const Mesh&) { return std::string(value ? "true" : "false"); }};
  return form;
}

const Form<std::string>& text() {
  static const auto form = Form<std::string>{
      described("A name as it is, not a pattern.", R"("type": "string", "pattern": "^[^\\u0000]+$")"),
      [](const Node& node, const Mesh&) { return node.text(); },
      [](const std::string& value, const Mesh&) {
        return json_string(value);
      }}.named("text");
  return form;
}

const Form<Axis>& axis() {
  static const auto form = Form<Axis>{
      R"("type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*$")",
      [](const Node& node, const Mesh& mesh) { return node.axis(mesh); },
      [](Axis value, const Mesh& mesh) {
        return json_string(mesh.axes[value]);
      }}.named("axis");
  return form;
}

const Form<Pattern>& glob() {
  static const auto form = Form<Pattern>{
      described("A pattern for whole names: * any run, ? one character, [0-9] a set, {x} like * but captured, [*] "
                "a literal.",
                R"("type": "string", "maxLength": 4096, "pattern":)"
                R"( "^([^\\[{\\u0000]|\\{[A-Za-z0-9_]+\\}|\\[(!(?=[^\\]]))?[^\\u0000][^\\]\\u0000]*\\])+$")"),
      [](const Node& node, const Mesh&) { return node.pattern(); },
      [](const Pattern& value, const Mesh&) {
        return json_string(value.text());
      }}.named("glob");
  return form;
}

}  // namespace ckpt::parsing
