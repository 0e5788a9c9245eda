#include <nlohmann/json.hpp>

#include "layout/language/change_layout.hpp"
#include "layout/language/form.hpp"
#include "layout/language/layout.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/tables/paddle_tables.hpp"

namespace ckpt {

namespace {

using parsing::described;
using parsing::Node;
using parsing::ObjectForm;

/// The version comes first: a later version's additions must not be reported as misspelt keys.
void check_version(const Node& root) {
  root.keys();
  if (!root.has("ckpt_layout")) root.fail("no key \"ckpt_layout\"", "\"ckpt_layout\": 1", "is this a layout file?");
  const auto version = root.member("ckpt_layout");
  if (version.number() != 1)
    version.fail("version " + version.describe(), "1, the only one that this program knows", "use a newer program");
}

const parsing::Form<std::vector<IndexRule>>& indices_form() {
  static const auto form = parsing::lines_of(parsing::index_form());
  return form;
}

/// The language: each key of a layout.
const ObjectForm<Layout>& layout_form() {
  static const auto form = [] {
    const auto nothing = [](const Node&, const Mesh&, Layout&) {};
    const auto never = [](const Layout&, const Mesh&) { return std::string(); };
    return ObjectForm<Layout>()
        .add({"ckpt_layout", true, described("The version of the language.", R"("const": 1)"), nothing,
              [](const Layout&, const Mesh&) { return "1"; }})
        .required("mesh", &Layout::mesh, parsing::mesh_form(),
                  "The cards' arrangement. Positions are numbered in row-major order, the last axis fastest.")
        .add({"files", false,
              [] {
                return described(
                    "Template of each card's file; or a list of them, of which a parameter lies in that of the longest "
                    "prefix its name begins with. Cards along an axis that a path does not name share the file.",
                    parsing::files_form().schema);
              },
              [](const Node& node, const Mesh& mesh, Layout& layout) {
                layout.files = parsing::files_form().read(node, mesh);
              },
              [](const Layout& layout, const Mesh& mesh) {
                const bool is_written = !is_text_alone(layout) && !layout.files.is_default();
                return is_written ? parsing::files_form().write(layout.files, mesh) : std::string();
              }})
        .optional(
            "names", &Layout::names, parsing::text(),
            "The map of names and the side of it that this layout's names are: \"llama.megatron\" of a ready map, "
            "or \"my-map.json#megatron\".")
        .optional("parameters", &Layout::parameters, parsing::rules_form,
                  "The first rule whose name matches a parameter decides.")
        .optional("default", &Layout::default_rule, parsing::word(parsing::default_words),
                  "What becomes of a parameter that no rule matches.")
        .optional("rename", &Layout::rename, parsing::renames_form,
                  "How names in the files map to logical names; the first match wins. {card}, {AXIS} or {AXIS:02} that "
                  "stands in stored alone is a coordinate of the card whose piece the array is.")
        .optional("indices", &Layout::indices, indices_form,
                  "Names that count something spread over an axis: pipeline layers, experts.")
        .optional("buckets", &Layout::buckets, parsing::buckets_form,
                  "Several parameters laid end to end in one stored array.")
        .optional("tables", &Layout::tables, parsing::tables_form,
                  "Tables whose rows lie on the server that their keys say.")
        .add({"uneven", false,
              [] {
                return described("How n elements are cut k ways, for all rules and members that do not say it.",
                                 parsing::word(parsing::uneven_words).schema);
              },
              [](const Node& node, const Mesh& mesh, Layout& layout) {
                cut_unevenly(layout, parsing::word(parsing::uneven_words).read(node, mesh));
              },
              never})
        .add({"$schema", false, described("For editors; the programs pass it over.", parsing::text().schema),
              [](const Node& node, const Mesh&, Layout&) { node.text(); }, never})
        .checked([](const Node& root, const Mesh&, Layout& layout) {
          parsing::check_paddle_text(root, layout.tables);
          parsing::note_card_names(root, layout);
        });
  }();
  return form;
}

/// The text of the layout on a mesh in which its axes may have other places.
std::string text_of(const Layout& layout, const Mesh& mesh) {
  std::string text;
  for (const auto& key : layout_form().keys()) {
    const std::string value = key.name == "mesh" ? to_json(mesh) : key.write(layout, layout.mesh);
    if (value.empty()) continue;
    text.append(text.empty() ? "{\n  " : ",\n  ").append(parsing::json_string(key.name)).append(": ").append(value);
  }
  return text + "\n}\n";
}

using Json = nlohmann::ordered_json;

/// Collects the definitions of a schema, which stand where they are used first.
Json with_references(const Json& schema, Json& definitions) {
  if (!schema.is_structured()) return schema;
  Json result = schema.is_array() ? Json::array() : Json::object();
  if (schema.is_array())
    for (const Json& item : schema) result.push_back(with_references(item, definitions));
  else
    for (const auto& [key, value] : schema.items())
      if (key == "$ref") {
        const auto name = value.at("name").get<std::string>();
        Json definition = with_references(value.at("schema"), definitions);
        definitions[name] = std::move(definition);
        result[key] = "#/$defs/" + name;
      } else {
        result[key] = with_references(value, definitions);
      }
  return result;
}

}  // namespace

Layout parse_layout(const std::string& json_text, const std::string& origin) {
  const auto document = parsing::parse_json(json_text, origin);
  const Node root(document, origin);
  check_version(root);
  Layout layout;
  layout.origin = origin;
  layout_form().read(root, layout.mesh, layout);
  return layout;
}

std::string to_json(const Layout& layout) {
  return text_of(layout, layout.mesh);
}

Layout checked(const Layout& layout) {
  return parse_layout(to_json(layout), layout.origin);
}

Layout with_axes(const Layout& layout, const Mesh& mesh) {
  return parse_layout(text_of(layout, mesh), layout.origin);
}

std::string layout_schema() {
  Json definitions;
  const Json described = Json::parse(
      R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Checkpoint layout, version 1", )"
      R"("description": "How a checkpoint's parameters are spread over cards. The program checks more than a schema can )"
      R"(say: axes that the mesh has, sizes that fit one another, files that no two cards share.", )" +
      layout_form().schema() + "}");
  Json schema = with_references(described, definitions);
  schema["$defs"] = std::move(definitions);
  return schema.dump(2) + "\n";
}

}  // namespace ckpt
