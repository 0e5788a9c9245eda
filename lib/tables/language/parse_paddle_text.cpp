#include <array>
#include <filesystem>
#include <set>

#include "layout/language/parse_sections.hpp"
#include "tables/language/paddle_tables.hpp"
#include "tables/language/table_rows.hpp"

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

/// Reports an error of the accessor's parser at the node.
template <class Work>
auto told_at(const Node& node, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    node.fail(error.text().found, error.text().expected, error.text().remedy);
  }
}

Accessor parse_accessor(const Node& node) {
  node.check_keys({"class", "embedx_dim", "embed_rule", "embedx_rule"}, 4);
  const auto known = [&](const char* key, const auto& value_of) {
    const Node said = node.member(key);
    return told_at(said, [&] { return value_of(said.text()); });
  };
  Accessor accessor;
  accessor.kind = known("class", accessor_class);
  accessor.embedx_dim = node.member("embedx_dim").number(1);
  accessor.embed_rule = known("embed_rule", sgd_rule);
  accessor.embedx_rule = known("embedx_rule", sgd_rule);
  told_at(node, [&] { return RowFields(accessor); });
  return accessor;
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

}  // namespace

void parse_paddle_text(const Node& node, std::uint64_t servers, KeyedTable& table) {
  node.member("format").word(text_format_words);
  if (!table.name.is_plain())
    node.member("name").fail(node.member("name").describe(), "one table's name",
                             "nothing in Paddle's files says another: give each table its own entry");
  PaddleText& text = table.text.emplace();
  parse_shard_files(node.member("files"), text);
  text.accessor = parse_accessor(node.member("accessor"));
  text.shards = parse_shards(node.member("place"), table);
  if (servers > most_text_servers)
    node.member("axis").fail(std::to_string(servers) + " servers", "at most " + std::to_string(most_text_servers),
                             "Paddle loads files in the order of their names, in which longer numbers stand elsewhere");
  table.keys = "{name}/keys";
  table.rows = {"{name}/value"};
  table.order = RowOrder::shard;
  table.offsets = default_offsets;
  table.fields = {{"{name}/value", RowFields(text.accessor).always()}};
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
