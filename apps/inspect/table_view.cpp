#include "inspect/table_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "layout/tables/table_json.hpp"
#include "layout/tables/table_rows.hpp"
#include "report/render.hpp"
#include "report/table.hpp"
#include "tensor/number.hpp"

namespace ckpt::cli {

namespace {

std::uint64_t parse_key(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::uint64_t key = 0;
  std::int64_t negative = 0;
  if (std::from_chars(text.data(), end, key) == std::from_chars_result{end, std::errc{}}) return key;
  if (std::from_chars(text.data(), end, negative) == std::from_chars_result{end, std::errc{}})
    return static_cast<std::uint64_t>(negative);
  throw Error(ckpt::Kind::usage, "--key", {"found " + text, "a whole number of 64 bits", ""});
}

std::string place_text(const KeyedTable& entry) {
  if (entry.by_shard)
    return to_json(PlaceStep(place_step::Mod{entry.by_shard->count})) + ", " +
           to_json(PlaceStep(place_step::Blocks{Uneven::ceil}));
  if (!entry.place) return "any";
  std::vector<std::string> steps;
  for (const PlaceStep& step : *entry.place) steps.push_back(to_json(step));
  return join(steps, steps.size());
}

/// The server of a position, also for a table by shard.
std::uint64_t server_of(const KeyedTable& entry, Position position) {
  return entry.by_shard ? position / ceil_div(entry.by_shard->count, entry.by_shard->servers) : position;
}

std::vector<std::uint64_t> rows_on_servers(const KeyedTable& entry, const StoredTable& table) {
  std::vector<std::uint64_t> rows(entry.by_shard ? entry.by_shard->servers : table.rows.size());
  for (Position position = 0; position < table.rows.size(); ++position)
    rows[server_of(entry, position)] += table.rows[position];
  return rows;
}

std::vector<ShownPart> shown_row(const StoredTable& table, const KeySearch& found, TableReader& reader) {
  constexpr std::uint64_t most_values = 64;
  std::vector<ShownPart> parts;
  for (std::size_t p = 1; p < table.parts.size(); ++p) {
    const TablePart& part = table.parts[p];
    ShownPart shown{part.name, std::vector<std::string>(part.row_elements), {}};
    for (const auto& [field, column] : table.fields)
      if (column.part == p && column.number < part.row_elements) shown.fields[column.number] = field;
    std::vector<std::byte> row(part.row_bytes());
    reader.read(part, *found.server, found.row, row);
    for (std::uint64_t i = 0; i < std::min(part.row_elements, most_values); ++i)
      shown.values.push_back(element_text(part.dtype, row.data() + i * part.dtype.size));
    parts.push_back(std::move(shown));
  }
  return parts;
}

std::string steps_text(const KeySearch& found) {
  std::vector<std::string> words;
  for (const std::uint64_t value : found.trace)
    words.push_back(value == KeyPlace::nowhere ? "none" : std::to_string(value));
  return words.empty() ? "" : " (step by step " + join(words, words.size()) + ")";
}

/// "server 3, row 17 of server_3.h5": where the key is, or would be.
std::string found_text(const TableView& view) {
  const KeySearch& found = *view.found;
  const std::string steps = steps_text(found);
  const auto on_server = [&](Position position) {
    return "server " + std::to_string(server_of(view.entry, position)) +
           (view.entry.by_shard ? ", shard " + std::to_string(position) : "");
  };
  if (!found.server)
    return "not there" + (found.expected        ? "; it would be on " + on_server(*found.expected) + steps
                          : found.trace.empty() ? std::string()
                                                : "; no server is for it" + steps);
  std::string text = on_server(*found.server) + ", row " + std::to_string(found.row) + " of " + view.file;
  if (found.trace.empty() || found.server == found.expected) return text + steps;
  return text + ", MISPLACED: " +
         (found.expected ? "it belongs on " + on_server(*found.expected) : std::string("no server is for it")) + steps;
}

std::string kept_text(const KeptRows& kept) {
  std::string text = kept.where;
  if (!kept.as.empty()) text += (text.empty() ? "" : ", and ") + std::string("whose rows of ") + kept.as + " stayed";
  return text + " (of " + with_commas(kept.of) + ")";
}

/// Which rows a table has, according to the manifest.
Lines table_facts_text(const ManifestTable& told) {
  Lines lines;
  for (const KeptRows& kept : all_kept(told)) lines.add(told.name + ": only rows " + kept_text(kept));
  for (const TableLayerFacts& layer : told.layers)
    lines.add(told.name + ": " + with_commas(layer.taken) + " of the " + with_commas(layer.rows) + " rows of " +
              layer.path);
  return lines;
}

std::string values_text(const ShownPart& part) {
  std::string text;
  for (std::size_t i = 0; i < part.values.size(); ++i)
    text += (i == 0 ? "" : ", ") + (part.fields[i].empty() ? "" : part.fields[i] + " ") + part.values[i];
  return text + (part.values.size() < part.fields.size() ? ", …" : "");
}

Json kept_json(const KeptRows& kept) {
  Json json{{"of", kept.of}};
  if (!kept.where.empty()) json["where"] = kept.where;
  if (!kept.as.empty()) json["as"] = kept.as;
  return json;
}

}  // namespace

std::vector<TableView> table_views(const Checkpoint& checkpoint, const Placement& placement, const std::string& key,
                                   SourceStore& store) {
  const std::vector<StoredTable> tables = stored_tables(placement);
  if (tables.empty() && !key.empty())
    throw Error(ckpt::Kind::usage, "--key",
                {placement.layout().origin + " has no tables", "a layout with \"tables\"", "give it with --layout"});
  const auto told = tables_in_manifest(checkpoint);
  TableReader reader(checkpoint, store, files_in_cache(1));
  std::vector<TableView> views;
  for (const StoredTable& table : tables) {
    const KeyedTable& entry = placement.layout().tables[table.entry];
    TableView view{table, entry, place_text(entry), rows_on_servers(entry, table), {}, {}, {}, {}, {}};
    if (const auto known = told.find(table.name); known != told.end()) view.told = known->second;
    if (!key.empty()) {
      const std::uint64_t number = parse_key(key);
      view.key = table.key_text(number);
      view.found = find_key(table, reader, number);
      if (view.found->server) {
        view.file = reader.describe(table.keys(), *view.found->server);
        view.parts = shown_row(table, *view.found, reader);
      }
    }
    views.push_back(std::move(view));
  }
  return views;
}

Lines tables_text(const std::vector<TableView>& tables, std::optional<std::size_t> width) {
  using Column = Table::Column;
  Lines lines;
  if (tables.empty()) return lines;
  Table table({{"table", Column::Kind::flexible},
               {"rows", Column::Kind::number},
               {"bytes of a row", Column::Kind::number},
               {"servers", Column::Kind::number},
               {"least rows", Column::Kind::number},
               {"most rows", Column::Kind::number},
               {"most / mean", Column::Kind::number},
               {"place", Column::Kind::flexible}});
  for (const TableView& view : tables) {
    const auto [least, most] = std::minmax_element(view.rows.begin(), view.rows.end());
    const std::uint64_t total = view.table.total_rows();
    const double mean = double(total) / double(view.rows.size());
    table.add({view.table.name, with_commas(total), with_commas(view.table.row_bytes()), with_commas(view.rows.size()),
               with_commas(*least), with_commas(*most), total == 0 ? "" : fmt::format("{:.2f}", double(*most) / mean),
               view.place});
  }
  lines.add("").add(table.lines(width));
  for (const TableView& view : tables) lines.add(table_facts_text(view.told));
  return lines;
}

Lines keys_text(const std::vector<TableView>& tables) {
  Lines lines;
  for (const TableView& view : tables) {
    if (!view.found) continue;
    lines.add("key " + view.key + " of " + view.table.name + ": " + found_text(view));
    for (const ShownPart& part : view.parts) lines.add("  " + part.name + ": " + values_text(part));
  }
  return lines;
}

Json tables_json(const std::vector<TableView>& tables) {
  Json list = Json::array();
  for (const TableView& view : tables) {
    Json entry{{"name", view.table.name},
               {"rows", view.table.total_rows()},
               {"row_bytes", view.table.row_bytes()},
               {"rows_on_servers", view.rows},
               {"place", view.place}};
    if (view.entry.by_shard) entry["rows_of_shards"] = view.table.rows;
    for (const KeptRows& kept : all_kept(view.told)) entry["kept"].push_back(kept_json(kept));
    for (const TableLayerFacts& layer : view.told.layers)
      entry["layers"].push_back({{"path", layer.path}, {"rows", layer.rows}, {"taken", layer.taken}});
    if (view.found) {
      const auto number = [](const std::optional<Position>& server) { return server ? Json(*server) : Json(); };
      Json key{{"key", view.key},
               {"steps", view.found->trace},
               {"expected_server", number(view.found->expected)},
               {"server", number(view.found->server)}};
      if (view.found->server) key["row"] = view.found->row;
      for (const ShownPart& part : view.parts) key["values"][part.name] = part.values;
      entry["key"] = std::move(key);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace ckpt::cli
