#include "checkpoint/shard_checkpoint.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "checkpoint/text_table.hpp"
#include "layout/names/literal.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "layout/tables/table_rows.hpp"
#include "processes/gather_all.hpp"
#include "store/paddle/shard_file.hpp"

namespace ckpt {

namespace {

constexpr const char* text_axis = "text_shard";
constexpr std::size_t most_dims = 256;  // Paddle's users have a handful

/// The table by shard: each file is a server, which has the keys of one remainder.
KeyedTable table_by_shard(const KeyedTable& said, std::uint64_t servers, const std::string& name,
                          const std::vector<std::string>& fields) {
  KeyedTable table;
  table.name = Pattern(literal(name));
  table.keys = "{name}/keys";
  table.rows = {"{name}/value"};
  table.place = std::vector<PlaceStep>{place_step::Mod{}};
  table.fields = {{"{name}/value", fields}};
  table.by_shard = {said.text->shards, servers};
  return table;
}

/// A table of text, what its files hold, and the dimensions of its tails.
struct CountedTable {
  TextTable text;
  std::vector<ShardCount> counts;
  std::vector<std::uint64_t> dims;

  std::string file_name(std::uint64_t shard, const std::filesystem::path& checkpoint) const {
    return text.files[shard].lexically_relative(checkpoint).string();
  }
};

/// Adds an axis before those of the layout's mesh, with room for a position for each shard. Files of the layout's own
/// cards are at coordinate 0 of that axis, because their paths do not name it. So a server's number is its position,
/// and so is a shard's.
Layout with_room(const Layout& layout, std::uint64_t shards) {
  Layout rest = layout;
  rest.tables.clear();
  rest.files = CardFiles();
  if (is_text_alone(layout)) {
    rest.mesh = {{"shard"}, {shards}, {}};
    return rest;
  }
  if (!layout.mesh.cards.empty())
    throw Error(Kind::usage, layout.origin,
                {"\"cards\" beside tables of Paddle's text", "cards that are numbered from 0",
                 "leave \"cards\" out, or give the text a job of its own"});
  Mesh mesh = layout.mesh;
  mesh.axes.insert(mesh.axes.begin(), text_axis);
  mesh.shape.insert(mesh.shape.begin(), ceil_div(shards, layout.mesh.size()));
  return with_axes(rest, mesh);
}

/// The layout's own files, named by the servers' axis where they were named by card.
std::vector<FileEntry> entries_of(const Layout& layout, const Mesh& mesh) {
  if (is_text_alone(layout)) return {};
  Mesh named = mesh;
  std::string axis = mesh.axes[layout.tables.front().axis + 1];
  if (axis == "card") {  // {card} is the number of all cards
    axis = "server";
    while (mesh.axis(axis)) axis += "_";
    named.axes[layout.tables.front().axis + 1] = axis;
  }
  std::vector<FileEntry> entries;
  for (const FileEntry& entry : layout.files.entries()) {
    std::string path = entry.path.text();
    if (entry.path.by_card() != nullptr)
      throw Error(Kind::usage, layout.origin,
                  {"\"files\" by card beside tables of Paddle's text", "a text such as \"server_{server}.h5\"",
                   "or give the text a job of its own"});
    for (const std::string_view mark : {"{card}", "{card:"})
      for (std::size_t at = path.find(mark); at != std::string::npos; at = path.find(mark, at + 1))
        path.replace(at + 1, 4, axis);
    entries.push_back({FileTemplate(path, named), entry.prefix});
  }
  return entries;
}

Layout layout_by_shard(const Layout& layout, const std::vector<CountedTable>& tables,
                       const std::filesystem::path& checkpoint) {
  std::uint64_t shards = 1;
  for (const CountedTable& table : tables) shards = std::max(shards, table.text.shards());
  Layout all = with_room(layout, shards);
  std::vector<FileEntry> entries = entries_of(layout, all.mesh);
  for (const KeyedTable& table : layout.tables)
    if (!table.text) {
      all.tables.push_back(table);
      ++all.tables.back().axis;
    }
  for (const CountedTable& table : tables) {
    const KeyedTable& said = layout.tables[table.text.entry];
    const std::string& name = table.text.name;
    FileTemplate::ByCard paths;
    for (std::uint64_t shard = 0; shard < table.text.shards(); ++shard)
      paths[shard] = table.file_name(shard, checkpoint);
    FileEntry entry{FileTemplate(std::move(paths), Mesh{{"shard"}, {table.text.shards()}, {}}), ""};
    const auto add = [&](const std::string& each, const std::vector<std::string>& fields) {
      all.tables.push_back(table_by_shard(said, layout.mesh.size(), each, fields));
      entry.names.insert({each + "/keys", each + "/value"});
    };
    add(name, table.text.fields.always());
    all.tables.back().filters = said.filters;  // of its fields: tails follow
    for (const std::uint64_t dims : table.dims)
      add(tail_table(name, table.text.fields, dims), table.text.fields.tail(dims));
    entries.push_back(std::move(entry));
  }
  all.files = CardFiles(std::move(entries));
  return all;
}

/// What all processes together counted, by shard.
std::vector<ShardCount> count_shards(const TextTable& table, unsigned threads, Communicator& processes) {
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto rank = static_cast<std::uint64_t>(processes.rank());
  if (threads == 0) threads = processes.processors();
  std::vector<ShardCount> mine;
  agree(processes, [&] {
    mine.resize(table.shards() / size + (rank < table.shards() % size ? 1 : 0));
    for_each_in_parallel(threads, mine.size(), [&](std::uint64_t n) {
      const std::uint64_t shard = n * size + rank;
      mine[n] = count_lines(table.files[shard], table.fields, {shard, table.shards()});
      PosixFile::Status read;
      read.bytes = mine[n].version.bytes;
      read.modified_ns = mine[n].version.modified_ns;
      check_is_found(table, shard, read);
    });
  });
  const auto all = gather_all(mine, processes);
  std::vector<ShardCount> counts;
  for (std::uint64_t shard = 0; shard < table.shards(); ++shard) counts.push_back(all[shard % size].at(shard / size));
  return counts;
}

/// The tails' dimensions: all that occur, if the table's rows state their own.
std::vector<std::uint64_t> dims_of(const TextTable& table, const std::vector<ShardCount>& counts) {
  if (!table.fields.rows_have_dims()) return {table.fields.embedx_dim()};
  std::set<std::uint64_t> dims;
  for (const ShardCount& count : counts)
    for (const auto& [embedx_dim, lines] : count.tails) dims.insert(embedx_dim);
  if (dims.size() > most_dims)
    throw Error(Kind::input, "table '" + table.name + "'",
                {"its rows have tails of " + std::to_string(dims.size()) + " different lengths (mf_dim)",
                 "at most " + std::to_string(most_dims),
                 "is the accessor of the layout that of the files? each length is a table of its own"});
  return {dims.begin(), dims.end()};
}

}  // namespace

void take_shards_as_cards(CheckpointProbe& seen, Communicator& processes) {
  if (!has_paddle_text(*seen.layout)) return;
  std::vector<CountedTable> tables;
  for (TextTable& table : find_text_tables(*seen.layout, seen.path, processes))
    tables.push_back({std::move(table), {}, {}});
  for (CountedTable& table : tables) {
    table.counts = count_shards(table.text, seen.threads, processes);
    agree(processes, [&] { table.dims = dims_of(table.text, table.counts); });
    for (std::uint64_t shard = 0; shard < table.text.shards(); ++shard) {
      const std::string name = table.file_name(shard, seen.path);
      seen.known[name] = {name, shard_catalog(table.text.name, table.text.fields, table.counts[shard], table.dims)};
    }
  }
  agree(processes, [&] { seen.layout = layout_by_shard(*seen.layout, tables, seen.path); });
  seen.elsewhere.reset();
}

}  // namespace ckpt
