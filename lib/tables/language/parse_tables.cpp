#include <algorithm>
#include <charconv>
#include <set>

#include "layout/language/parse_sections.hpp"
#include "layout/names/characters.hpp"
#include "tables/language/key_place.hpp"
#include "tables/language/row_condition.hpp"
#include "tables/language/row_groups.hpp"
#include "tables/language/table_rows.hpp"

namespace ckpt::parsing {

namespace {

/// Parses "0x7fffffff", which is a text since JSON readers differ on numbers beyond 2^53.
std::uint64_t parse_mask(const Node& node) {
  const std::string text = node.text();
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  if (!text.starts_with("0x") || text.size() == 2 ||
      std::from_chars(text.data() + 2, end, bits, 16) != std::from_chars_result{end, std::errc{}})
    node.fail("hexadecimal digits of at most 64 bits, such as \"0x7fffffff\"");
  return bits;
}

bool is_word_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

PlaceStep parse_step(const Node& node) {
  node.check_keys({"mod", "blocks", "rows", "signed", "mask", "field", "hash"}, 0);
  if (node.keys().size() != 1) node.fail("one step, such as {\"mod\": 1000}");
  const std::string key = node.keys().front();
  const Node value = node.member(key);
  if (key == "mod") {
    if (!value.is_string()) return place_step::Mod{value.number(1)};
    if (value.text() != "servers") value.fail("a number, or \"servers\"");
    return place_step::Mod{};
  }
  if (key == "blocks") return place_step::Blocks{value.word(uneven_words)};
  if (key == "rows") return place_step::Rows{value.number(1)};
  if (key == "signed") return place_step::AsSigned{value.word(signedness_words)};
  if (key == "mask") return place_step::Mask{parse_mask(value)};
  if (key == "field") return place_step::Field{value.text()};
  return place_step::Hash{value.word(key_hash_words)};
}

std::optional<std::vector<PlaceStep>> parse_place(const Node& node, std::uint64_t servers) {
  if (node.is_string()) {
    if (node.text() != "any") node.fail("a list of steps, or \"any\"");
    return std::nullopt;
  }
  std::vector<PlaceStep> steps;
  for (const Node& item : node.items()) steps.push_back(parse_step(item));
  if (steps.empty()) node.fail("a step at least, such as {\"mod\": \"servers\"}");
  try {
    static_cast<void>(KeyPlace(steps, servers));
  } catch (const Error& error) {
    node.item(std::stoul(error.object())).fail(error.text().found, error.text().expected, error.text().remedy);
  }
  return steps;
}

std::string parse_template(const Node& node) {
  std::string text = node.text();
  const std::size_t at = text.find(table_name_mark);
  if (at == std::string::npos || text.find(table_name_mark, at + 1) != std::string::npos)
    node.fail(node.describe(), "{name} in it, once: it stands for the table's name");
  return text;
}

std::map<std::string, std::vector<std::string>> parse_fields(const Node& node) {
  std::map<std::string, std::vector<std::string>> fields;
  std::set<std::string> known;
  for (const std::string& dataset : node.keys()) {
    const Node list = node.member(dataset);
    if (dataset.find(table_name_mark) == std::string::npos) list.fail("the dataset " + dataset, "{name} in its name");
    for (const Node& item : list.items()) {
      if (!known.insert(item.text()).second)
        item.fail("the field " + item.describe() + " a second time", "other names");
      fields[dataset].push_back(item.text());
    }
    if (fields[dataset].empty()) list.fail("a name for each column");
  }
  return fields;
}

/// Parses words for conditions, which may use existing fields, but no other words.
std::map<std::string, std::string> parse_filters(const Node& node, const KeyedTable& table) {
  std::map<std::string, std::string> filters;
  for (const std::string& word : node.keys()) {
    const Node condition = node.member(word);
    if (word.empty() || !std::all_of(word.begin(), word.end(), is_word_character))
      condition.fail("the word \"" + word + "\"", "letters, digits and _");
    if (field_place(table, word)) condition.fail("the word \"" + word + "\"", "no name that a field has");
    const std::string text = condition.text();
    std::vector<std::string> fields;
    try {
      fields = RowCondition(text).fields();
    } catch (const Error& error) {
      condition.fail(error.text().found, error.text().expected, error.text().remedy);
    }
    for (const std::string& field : fields)
      if (!field_place(table, field)) condition.fail("the field \"" + field + "\"", "one that \"fields\" names");
    filters.emplace(word, text);
  }
  return filters;
}

/// A field that places rows must be a column of its own.
void check_field(const Node& node, const KeyedTable& table) {
  if (!table.place) return;
  const auto* field = std::get_if<place_step::Field>(&table.place->front());
  if (field == nullptr || field_place(table, field->name)) return;
  node.member("place").item(0).fail("the field \"" + field->name + "\"", "one that \"fields\" names");
}

void parse_order(const Node& node, std::uint64_t servers, KeyedTable& table) {
  if (const auto order = node.find("order")) table.order = order->word(row_order_words);
  const auto offsets = node.find("offsets");
  if (table.order != RowOrder::shard) {
    if (offsets)
      offsets->fail(offsets->describe() + " without \"order\": \"shard\"", "it where rows are grouped by shard");
    return;
  }
  table.offsets = offsets ? parse_template(*offsets) : std::string(default_offsets);
  const Node order = node.member("order");
  if (!table.place)
    order.fail("\"shard\" with \"place\": \"any\"", "\"source\"", "the steps of \"place\" say which shards there are");
  try {
    static_cast<void>(RowGroups(KeyPlace(*table.place, servers), table.order));
  } catch (const Error& error) {
    order.fail(error.text().found, error.text().expected, error.text().remedy);
  }
}

/// Refuses other axes, since nothing says which servers have the same rows.
void check_mesh(const Node& node, const KeyedTable& table, const Mesh& mesh) {
  if (mesh.size() == mesh.shape[table.axis]) return;
  node.member("axis").fail("a mesh with other axes than \"" + mesh.axes[table.axis] + "\"",
                           "every other axis of size 1",
                           "tables lie on one axis of servers: give them a layout of their own");
}

/// Parses name, axis and place, which all tables have.
KeyedTable parse_placed(const Node& node, const Mesh& mesh) {
  KeyedTable table;
  table.name = node.member("name").pattern();
  table.axis = node.member("axis").axis(mesh);
  check_mesh(node, table, mesh);
  table.place = parse_place(node.member("place"), mesh.shape[table.axis]);
  return table;
}

KeyedTable parse_table(const Node& node, const Mesh& mesh) {
  node.check_keys({"name", "keys", "rows", "axis", "place", "order", "offsets", "deleted", "fields", "filters"}, 5);
  KeyedTable table = parse_placed(node, mesh);
  table.keys = parse_template(node.member("keys"));
  for (const Node& rows : node.member("rows").items()) table.rows.push_back(parse_template(rows));
  parse_order(node, mesh.shape[table.axis], table);
  if (const auto deleted = node.find("deleted")) table.deleted = parse_template(*deleted);
  if (const auto fields = node.find("fields")) table.fields = parse_fields(*fields);
  if (const auto filters = node.find("filters")) table.filters = parse_filters(*filters, table);
  check_field(node, table);
  return table;
}

KeyedTable parse_text_table(const Node& node, const Mesh& mesh) {
  node.check_keys({"name", "format", "files", "accessor", "axis", "place", "filters"}, 6);
  KeyedTable table = parse_placed(node, mesh);
  parse_paddle_text(node, mesh.shape[table.axis], table);
  if (const auto filters = node.find("filters")) table.filters = parse_filters(*filters, table);
  return table;
}

}  // namespace

std::vector<KeyedTable> parse_tables(const Node& node, const Mesh& mesh) {
  std::vector<KeyedTable> tables;
  for (const Node& item : node.items())
    tables.push_back(item.is_object() && item.has("format") ? parse_text_table(item, mesh) : parse_table(item, mesh));
  return tables;
}

}  // namespace ckpt::parsing
