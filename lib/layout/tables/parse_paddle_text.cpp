#include <array>
#include <filesystem>
#include <set>

#include "layout/language/form.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "layout/tables/table_rows.hpp"

namespace ckpt::parsing {

namespace {

// Paddle reads a table's files in the order of their names, and pads the numbers in them to three and five digits.
constexpr std::uint64_t most_text_servers = 1000;
constexpr std::uint64_t most_text_shards = 100'000;

constexpr std::array<Word<bool>, 1> text_format_words{{{"paddle-text", true}}};

/// Returns whether a path stays below the checkpoint's directory, in plain form. Paddle would mistake a manifest beside
/// a table's files for one of them, so the files need a directory of their own.
bool is_plain_directory(const std::string& directory) {
  const std::filesystem::path path(directory);
  if (path.empty() || path.is_absolute() || directory.find_first_of("{}") != std::string::npos) return false;
  for (const auto& part : path)
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

/// Parses "000/part-{server:03}-{shard:05}.gz".
void parse_shard_files(const Node& node, PaddleText& text) {
  const std::string files = node.text();
  const std::size_t slash = files.rfind('/');
  text.directory = slash == std::string::npos ? "" : files.substr(0, slash);
  text.is_gzip = files.ends_with(".gz");
  if (shard_file_template(text) != files || !is_plain_directory(text.directory))
    node.fail(node.describe(), "a directory, and in it Paddle's names: \"000/part-{server:03}-{shard:05}\"",
              "with .gz at its end, files are written compressed");
}

/// One of Paddle's own names.
template <class Value>
Form<Value> paddle_name(std::string schema, Value (*value_of)(std::string_view)) {
  return {std::move(schema),
          [=](const Node& node, const Mesh&) { return node.told([&] { return value_of(node.text()); }); },
          [](const Value& value, const Mesh&) { return json_string(name_of(value)); }};
}

const Form<Accessor>& accessor_form() {
  static const auto rule = paddle_name(R"("enum": ["SparseNaiveSGDRule", "SparseAdaGradSGDRule", "StdAdaGradSGDRule", )"
                                       R"("SparseAdamSGDRule", "SparseSharedAdamSGDRule"])",
                                       sgd_rule)
                               .named("paddle_rule");
  static const auto form =
      ObjectForm<Accessor>()
          .required(
              "class", &Accessor::kind,
              paddle_name(R"("enum": ["CtrCommonAccessor", "SparseAccessor", "CtrDoubleAccessor", "CtrDymfAccessor"])",
                          accessor_class))
          .required("embedx_dim", &Accessor::embedx_dim, positive())
          .required("embed_rule", &Accessor::embed_rule, rule)
          .required("embedx_rule", &Accessor::embedx_rule, rule)
          .checked(
              [](const Node& node, const Mesh&, Accessor& accessor) { node.told([&] { return RowFields(accessor); }); })
          .form();
  return form;
}

/// Returns shard_num from a place like that of Paddle's servers: a file is one shard, and lies on its server.
std::uint64_t parse_shards(const Node& node, const KeyedTable& table) {
  const auto* const mod =
      table.place && table.place->size() == 2 ? std::get_if<place_step::Mod>(&table.place->front()) : nullptr;
  const auto* const blocks = mod != nullptr ? std::get_if<place_step::Blocks>(&table.place->back()) : nullptr;
  if (blocks == nullptr || blocks->uneven != Uneven::ceil || mod->by == 0)
    node.fail(node.describe(), "[{\"mod\": shard_num}, {\"blocks\": \"ceil\"}]",
              "Paddle's servers have their shards so, a file for each");
  if (mod->by > most_text_shards)
    node.fail("shard_num " + std::to_string(mod->by), "at most " + std::to_string(most_text_shards),
              "Paddle loads files in the order of their names, in which longer numbers stand elsewhere");
  return mod->by;
}

void check_text_table(const Node& node, const Mesh& mesh, KeyedTable& table) {
  if (!table.name.is_plain())
    node.member("name").fail(node.member("name").describe(), "one table's name",
                             "nothing in Paddle's files says another: give each table its own entry");
  PaddleText text;
  parse_shard_files(node.member("files"), text);
  text.accessor = accessor_form().read(node.member("accessor"), mesh);
  text.shards = parse_shards(node.member("place"), table);
  if (const std::uint64_t servers = mesh.shape[table.axis]; servers > most_text_servers)
    node.member("axis").fail(std::to_string(servers) + " servers", "at most " + std::to_string(most_text_servers),
                             "Paddle loads files in the order of their names, in which longer numbers stand elsewhere");
  table.keys = "{name}/keys";
  table.rows = {"{name}/value"};
  table.order = RowOrder::shard;
  table.offsets = default_offsets;
  table.fields = {{"{name}/value", RowFields(text.accessor).always()}};
  table.text = std::move(text);
  read_filters(node, table);
}

constexpr std::string_view name_schema = R"("type": "string", "pattern": "^([^*?\\[{\\u0000]|\\[[^\\u0000]\\])+$")";
constexpr std::string_view files_schema =
    R"("type": "string", "pattern": "^[^/{}][^{}]*/part-\\{server:03\\}-\\{shard:05\\}(\\.gz)?$")";
constexpr std::string_view place_schema =
    R"("type": "array", "prefixItems": [{"type": "object", "properties": )"
    R"({"mod": {"type": "integer", "minimum": 1, "maximum": 100000}}, "additionalProperties": false, )"
    R"("required": ["mod"]}, {"const": {"blocks": "ceil"}}], "minItems": 2, "maxItems": 2)";

}  // namespace

const Form<KeyedTable>& text_table_form() {
  static const auto form = [] {
    const auto read_later = [](const Node&, const Mesh&, KeyedTable&) {};
    return ObjectForm<KeyedTable>()
        .required("name", &KeyedTable::name, Form<Pattern>{std::string(name_schema), glob().read, glob().write},
                  "The table's own: nothing in the files says one.")
        .add({"format", true,
              described("A table in the text files of PaddlePaddle's parameter servers, a file for each shard.",
                        word(text_format_words).schema),
              [](const Node& node, const Mesh&, KeyedTable&) { node.word(text_format_words); },
              [](const KeyedTable&, const Mesh&) { return json_string("paddle-text"); }})
        .add({"files", true,
              described(
                  "A directory, one for each table, and in it Paddle's names; with .gz at the end they are written "
                  "compressed.",
                  std::string(files_schema)),
              read_later,
              [](const KeyedTable& table, const Mesh&) { return json_string(shard_file_template(*table.text)); }})
        .add({"accessor", true,
              described("What a line's numbers are, as the trainer's configuration has it.", accessor_form().schema),
              read_later,
              [](const KeyedTable& table, const Mesh& mesh) {
                return accessor_form().write(table.text->accessor, mesh);
              }})
        .add(table_axis_key("The servers, at most 1,000; all other axes have size 1."))
        .add(table_place_key(R"([{"mod": shard_num}, {"blocks": "ceil"}])", std::string(place_schema)))
        .add(table_filters_key())
        .checked(check_text_table)
        .form()
        .named("paddle_table");
  }();
  return form;
}

void check_paddle_text(const Node& root, const std::vector<KeyedTable>& tables) {
  std::set<std::string> directories;
  std::set<std::string> names;
  bool has_text = false;
  bool has_others = root.has("parameters") || root.has("buckets") || root.has("default");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i].text) {
      has_others = true;
      continue;
    }
    has_text = true;
    const Node node = root.member("tables").item(i);
    if (!names.insert(tables[i].name.text()).second)
      node.member("name").fail(node.member("name").describe() + " a second time", "another name");
    if (!directories.insert(tables[i].text->directory).second)
      node.member("files").fail("a directory that another table has, too", "one for each table",
                                "Paddle takes all files in it as the table's");
  }
  if (!has_text) return;
  if (has_others && !root.has("files"))
    root.fail("tables of \"format\": \"paddle-text\" beside others, and no \"files\"",
              "\"files\" for all that is no text, such as \"server_{server}.h5\"");
  if (has_others) return;
  for (const char* key : {"files", "rename", "indices"})
    if (const auto other = root.find(key))
      other->fail("\"" + std::string(key) + "\" beside nothing but tables of \"format\": \"paddle-text\"",
                  "\"parameters\" or other tables, too", "leave it out");
}

}  // namespace ckpt::parsing
