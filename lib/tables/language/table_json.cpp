#include "tables/language/table_json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "layout/language/parse_words.hpp"
#include "tables/language/paddle_tables.hpp"

namespace ckpt {

namespace {

using Json = nlohmann::json;

template <class Value, std::size_t Count>
Json word_of(const std::array<parsing::Word<Value>, Count>& words, Value value) {
  return std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.value == value; })->text;
}

std::string hexadecimal(std::uint64_t bits) {
  std::array<char, 19> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(bits));
  return text.data();
}

/// Returns a step as its key and value.
struct StepWords {
  std::pair<const char*, Json> operator()(const place_step::Mod& step) const {
    return {"mod", step.by == 0 ? Json("servers") : Json(step.by)};
  }
  std::pair<const char*, Json> operator()(const place_step::Blocks& step) const {
    return {"blocks", word_of(parsing::uneven_words, step.uneven)};
  }
  std::pair<const char*, Json> operator()(const place_step::Rows& step) const { return {"rows", step.count}; }
  std::pair<const char*, Json> operator()(const place_step::AsSigned& step) const {
    return {"signed", word_of(parsing::signedness_words, step.how)};
  }
  std::pair<const char*, Json> operator()(const place_step::Mask& step) const {
    return {"mask", hexadecimal(step.bits)};
  }
  std::pair<const char*, Json> operator()(const place_step::Field& step) const { return {"field", step.name}; }
  std::pair<const char*, Json> operator()(const place_step::Hash& step) const {
    return {"hash", word_of(parsing::key_hash_words, step.function)};
  }
};

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Items, class Write>
std::string joined(const Items& items, const Write& write) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + write(item);
  return text;
}

template <class Items, class Write>
std::string listed(const Items& items, const Write& write) {
  return "[" + joined(items, write) + "]";
}

std::string place_json(const std::vector<PlaceStep>& place) {
  return listed(place, [](const PlaceStep& step) { return to_json(step); });
}

/// Returns ", \"filters\": {…}", if there are any.
std::string filters_json(const KeyedTable& table) {
  if (table.filters.empty()) return "";
  return ", \"filters\": {" +
         joined(table.filters, [](const auto& entry) { return text_of(entry.first) + ": " + text_of(entry.second); }) +
         "}";
}

std::string text_table_json(const KeyedTable& table, const Mesh& mesh) {
  const Accessor& accessor = table.text->accessor;
  const auto quoted = [](std::string_view text) { return text_of(text); };
  return "{\"name\": " + quoted(table.name.text()) +
         ", \"format\": \"paddle-text\", \"files\": " + quoted(shard_file_template(*table.text)) +
         ", \"accessor\": {\"class\": " + quoted(name_of(accessor.kind)) +
         ", \"embedx_dim\": " + std::to_string(accessor.embedx_dim) +
         ", \"embed_rule\": " + quoted(name_of(accessor.embed_rule)) +
         ", \"embedx_rule\": " + quoted(name_of(accessor.embedx_rule)) +
         "}, \"axis\": " + quoted(mesh.axes[table.axis]) + ", \"place\": " + place_json(*table.place) +
         filters_json(table) + "}";
}

}  // namespace

std::string to_json(const PlaceStep& step) {
  const auto [key, value] = std::visit(StepWords{}, step);
  return "{" + text_of(key) + ": " + text_of(value) + "}";
}

std::string to_json(const KeyedTable& table, const Mesh& mesh) {
  if (table.text) return text_table_json(table, mesh);
  const auto quoted = [](const std::string& text) { return text_of(text); };
  std::string text = "{\"name\": " + quoted(table.name.text()) + ", \"keys\": " + quoted(table.keys) +
                     ", \"rows\": " + listed(table.rows, quoted) + ", \"axis\": " + quoted(mesh.axes[table.axis]);
  text += ", \"place\": ";
  text += table.place ? place_json(*table.place) : "\"any\"";
  text += ", \"order\": " + text_of(word_of(parsing::row_order_words, table.order));
  if (!table.offsets.empty()) text += ", \"offsets\": " + quoted(table.offsets);
  if (!table.deleted.empty()) text += ", \"deleted\": " + quoted(table.deleted);
  if (!table.fields.empty())
    text += ", \"fields\": {" +
            joined(table.fields,
                   [&](const auto& entry) { return quoted(entry.first) + ": " + listed(entry.second, quoted); }) +
            "}";
  return text + filters_json(table) + "}";
}

}  // namespace ckpt
