#include "layout/language/layout.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/language/parse_node.hpp"
#include "layout/language/parse_sections.hpp"

namespace ckpt {

namespace {

/// The version comes first: a later version's additions must not be reported as misspelt keys.
void check_version(const parsing::Node& root) {
  root.keys();
  if (!root.has("ckpt_layout")) root.fail("no key \"ckpt_layout\"", "\"ckpt_layout\": 1", "is this a layout file?");
  const auto version = root.member("ckpt_layout");
  if (version.number() != 1)
    version.fail("version " + version.describe(), "1, the only one that this program knows", "use a newer program");
}

}  // namespace

Layout parse_layout(const std::string& json_text, const std::string& origin) {
  const auto document = parsing::parse_json(json_text, origin);
  const parsing::Node root(document, origin);
  check_version(root);
  root.check_keys(
      {"ckpt_layout", "mesh", "files", "parameters", "default", "rename", "indices", "buckets", "tables", "$schema"},
      2);
  if (const auto schema = root.find("$schema")) schema->text();  // for editors
  Layout layout;
  layout.origin = origin;
  layout.mesh = parsing::parse_mesh(root.member("mesh"));
  if (const auto files = root.find("files")) layout.files = parsing::parse_files(*files, layout.mesh);
  if (const auto rules = root.find("parameters")) layout.parameters = parsing::parse_rules(*rules, layout.mesh);
  if (const auto otherwise = root.find("default")) layout.otherwise = otherwise->word(parsing::default_words);
  if (const auto renames = root.find("rename")) layout.rename = parsing::parse_renames(*renames, layout.mesh);
  if (const auto indices = root.find("indices")) layout.indices = parsing::parse_indices(*indices, layout.mesh);
  if (const auto buckets = root.find("buckets")) layout.buckets = parsing::parse_buckets(*buckets, layout.mesh);
  if (const auto tables = root.find("tables")) layout.tables = parsing::parse_tables(*tables, layout.mesh);
  parsing::check_paddle_text(root, layout.tables);
  parsing::note_card_names(root, layout);
  return layout;
}

}  // namespace ckpt
