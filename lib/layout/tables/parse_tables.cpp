#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "layout/language/form.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/names/characters.hpp"
#include "layout/tables/key_place.hpp"
#include "layout/tables/row_condition.hpp"
#include "layout/tables/row_groups.hpp"
#include "layout/tables/table_json.hpp"
#include "layout/tables/table_rows.hpp"

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

/// A step of `place` is an object with one of these keys.
struct StepForm {
  std::string key;
  std::string schema;
  std::function<PlaceStep(const Node&, const Mesh&)> read;
  std::function<std::string(const PlaceStep&)> write;  ///< empty: it is another step
};

template <class Step, class Value>
StepForm step(const char* key, Value Step::*member, const Form<Value>& form, std::string_view says) {
  return {key, described(says, form.schema),
          [=](const Node& node, const Mesh& mesh) {
            Step read;
            read.*member = form.read(node, mesh);
            return PlaceStep(read);
          },
          [=](const PlaceStep& each) {
            const auto* const own = std::get_if<Step>(&each);
            return own == nullptr ? std::string() : form.write(own->*member, {});
          }};
}

const std::vector<StepForm>& step_forms() {
  static const Form<std::uint64_t> divisor{
      "\"anyOf\": [{" + positive().schema + R"(}, {"const": "servers"}])",
      [](const Node& node, const Mesh&) {
        if (!node.is_string()) return node.number(1);
        if (node.text() != "servers") node.fail("a number, or \"servers\"");
        return std::uint64_t{0};
      },
      [](std::uint64_t by, const Mesh&) { return by == 0 ? json_string("servers") : std::to_string(by); }};
  static const Form<std::uint64_t> mask{
      R"("type": "string", "pattern": "^0x[0-9a-fA-F]{1,16}$")",
      [](const Node& node, const Mesh&) { return parse_mask(node); },
      [](std::uint64_t bits, const Mesh&) {
        std::array<char, 16> digits{};
        return json_string("0x" +
                           std::string(digits.data(), std::to_chars(digits.begin(), digits.end(), bits, 16).ptr));
      }};
  static const std::vector<StepForm> forms{
      step("mod", &place_step::Mod::by, divisor, "The remainder by a number, or by the number of servers."),
      step("blocks", &place_step::Blocks::uneven, word(uneven_words),
           "The values of the step before, cut into as many blocks as there are servers, as uneven does."),
      step("rows", &place_step::Rows::count, positive(), "Keys are row numbers below this; others are an error."),
      step("signed", &place_step::AsSigned::how, word(signedness_words),
           "The next mod takes keys from 2^63 on as negative numbers: floor as Python, truncate as C."),
      step("mask", &place_step::Mask::bits, mask, "These bits alone."),
      step("field", &place_step::Field::name, text(), "First: a column of the row in the place of the key."),
      step("hash", &place_step::Hash::function, word(key_hash_words),
           "splitmix64: the first number of SplitMix64 with the value as seed; murmur3_fmix64: MurmurHash3's 64-bit "
           "finalizer.")};
  return forms;
}

std::string step_schema() {
  const auto property = [](const StepForm& each) { return json_string(each.key) + ": {" + each.schema + "}"; };
  return R"("$ref": {"name": "place_step", "schema": {"type": "object", "properties": {)" +
         joined(step_forms(), property) +
         R"(}, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}})";
}

PlaceStep parse_step(const Node& node) {
  std::vector<std::string> allowed;
  for (const StepForm& each : step_forms()) allowed.push_back(each.key);
  node.check_keys(allowed, {});
  if (node.keys().size() != 1) node.fail("one step, such as {\"mod\": 1000}");
  const std::string key = node.keys().front();
  const auto form = std::find_if(step_forms().begin(), step_forms().end(), [&](const auto& f) { return f.key == key; });
  return form->read(node.member(key), {});
}

std::optional<std::vector<PlaceStep>> parse_place(const Node& node, std::uint64_t servers) {
  if (node.is_string()) {
    if (node.text() != "any") node.fail("a list of steps, or \"any\"");
    return std::nullopt;
  }
  std::vector<PlaceStep> steps;
  for (const Node& item : node.items()) steps.push_back(parse_step(item));
  if (steps.empty()) node.fail("a step at least, such as {\"mod\": \"servers\"}");
  static_cast<void>(KeyPlace(steps, servers, [&](std::size_t step, const Error::Text& why) {
    node.item(step).fail(why.found, why.expected, why.remedy);
  }));
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
    for (const std::string& field : condition.told([&] { return RowCondition(text).fields(); }))
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

void check_order(const Node& node, std::uint64_t servers, KeyedTable& table) {
  if (table.order != RowOrder::shard) {
    if (const auto offsets = node.find("offsets"))
      offsets->fail(offsets->describe() + " without \"order\": \"shard\"", "it where rows are grouped by shard");
    return;
  }
  if (table.offsets.empty()) table.offsets = default_offsets;
  const Node order = node.member("order");
  if (!table.place)
    order.fail("\"shard\" with \"place\": \"any\"", "\"source\"", "the steps of \"place\" say which shards there are");
  order.told([&] { return RowGroups(KeyPlace(*table.place, servers), table.order).count(); });
}

/// Refuses other axes, since nothing says which servers have the same rows.
Axis parse_axis(const Node& node, const Mesh& mesh) {
  const Axis axis = node.axis(mesh);
  if (mesh.size() != mesh.shape[axis])
    node.fail("a mesh with other axes than \"" + mesh.axes[axis] + "\"", "every other axis of size 1",
              "tables lie on one axis of servers: give them a layout of their own");
  return axis;
}

}  // namespace

ObjectForm<KeyedTable>::Key table_axis_key(std::string_view says) {
  return {"axis", true, described(says, axis().schema),
          [](const Node& node, const Mesh& mesh, KeyedTable& table) { table.axis = parse_axis(node, mesh); },
          [](const KeyedTable& table, const Mesh& mesh) { return axis().write(table.axis, mesh); }};
}

ObjectForm<KeyedTable>::Key table_place_key(std::string_view says, const std::string& schema) {
  return {"place", true, described(says, schema),
          [](const Node& node, const Mesh& mesh, KeyedTable& table) {
            table.place = parse_place(node, mesh.shape[table.axis]);
          },
          [](const KeyedTable& table, const Mesh&) {
            return table.place ? listed(*table.place, [](const PlaceStep& step) { return to_json(step); })
                               : json_string("any");
          }};
}

/// Words for conditions, which are parsed once all fields are known.
ObjectForm<KeyedTable>::Key table_filters_key() {
  return {"filters", false,
          R"("$ref": {"name": "table_filters", "schema": {)" +
              described("Words for --keep, each with the condition of fields that it stands for.",
                        R"("type": "object", "propertyNames": {"pattern": "^[A-Za-z0-9_]+$"}, )"
                        R"("additionalProperties": {)" +
                            text().schema + "}}}"),
          [](const Node&, const Mesh&, KeyedTable&) {},
          [](const KeyedTable& table, const Mesh&) {
            return table.filters.empty() ? std::string() : members(table.filters, json_string);
          }};
}

namespace {

const Form<std::string>& dataset_form() {
  static const auto form =
      Form<std::string>{described("With {name}, once, for the table's name.",
                                  R"("type": "string", "pattern": "^[^\\u0000]*\\{name\\}[^\\u0000]*$")"),
                        [](const Node& node, const Mesh&) { return parse_template(node); }, text().write}
          .named("table_dataset");
  return form;
}

Form<std::map<std::string, std::vector<std::string>>> fields_form() {
  return {R"("type": "object", "propertyNames": {)" + dataset_form().schema + R"(}, "additionalProperties": {)" +
              list_schema(text().schema, R"("minItems": 1, "uniqueItems": true)") + "}",
          [](const Node& node, const Mesh&) { return parse_fields(node); },
          [](const auto& fields, const Mesh&) {
            return members(fields, [](const auto& names) { return listed(names, json_string); });
          }};
}

void check_table(const Node& node, const Mesh& mesh, KeyedTable& table) {
  check_order(node, mesh.shape[table.axis], table);
  read_filters(node, table);
  check_field(node, table);
}

const Form<KeyedTable>& table_form() {
  static const auto form =
      ObjectForm<KeyedTable>()
          .required("name", &KeyedTable::name, glob(),
                    "Of the tables: what {name} stands for in the names of their datasets.")
          .required("keys", &KeyedTable::keys, dataset_form(), "The dataset of the keys: u64 or i64 [n].")
          .required("rows", &KeyedTable::rows, list_of(dataset_form()),
                    "Patterns of the datasets that have a row for each key: [n, ...].")
          .add(table_axis_key("The servers; all other axes have size 1."))
          .add(table_place_key(
              "The steps from a key to its server; any (sources only): a key may lie on any server.",
              R"("anyOf": [{"const": "any"}, {)" + list_schema(step_schema(), R"("minItems": 1)") + "}]"))
          .add({"order", false,
                described(
                    "Of the rows on a server: by the source's servers and positions; or grouped by shard, the value "
                    "before the last step of place, in this order within each.",
                    word(row_order_words).schema),
                [](const Node& node, const Mesh&, KeyedTable& table) { table.order = node.word(row_order_words); },
                [](const KeyedTable& table, const Mesh& mesh) {
                  return word(row_order_words).write(table.order, mesh);
                }})
          .optional("offsets", &KeyedTable::offsets, dataset_form(),
                    "With the order shard: the dataset of where each of a server's shards begins, and the end. "
                    "Otherwise {name}/shard_offsets.")
          .optional("deleted", &KeyedTable::deleted, dataset_form(),
                    "The dataset of keys that a delta deletes from what it is put on.")
          .optional("fields", &KeyedTable::fields, fields_form(), "The names of a dataset's columns.")
          .add(table_filters_key())
          .checked(check_table)
          .form()
          .named("table");
  return form;
}

}  // namespace

void read_filters(const Node& node, KeyedTable& table) {
  if (const auto filters = node.find("filters")) table.filters = parse_filters(*filters, table);
}

const Form<std::vector<KeyedTable>>& tables_form() {
  static const Form<std::vector<KeyedTable>> form{
      list_schema("\"anyOf\": [{" + table_form().schema + "}, {" + text_table_form().schema + "}]"),
      [](const Node& node, const Mesh& mesh) {
        std::vector<KeyedTable> tables;
        for (const Node& item : node.items()) {
          const bool is_text = item.is_object() && item.has("format");
          tables.push_back((is_text ? text_table_form() : table_form()).read(item, mesh));
        }
        return tables;
      },
      [](const std::vector<KeyedTable>& tables, const Mesh& mesh) {
        return lines(tables, [&](const KeyedTable& table) {
          return (table.text ? text_table_form() : table_form()).write(table, mesh);
        });
      }};
  return form;
}

}  // namespace ckpt::parsing

namespace ckpt {

std::string to_json(const PlaceStep& step) {
  for (const parsing::StepForm& each : parsing::step_forms())
    if (const std::string value = each.write(step); !value.empty())
      return "{" + parsing::json_string(each.key) + ": " + value + "}";
  return "{}";
}

}  // namespace ckpt
