#include "checkpoint/shard_checkpoint.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "base/parallel.hpp"
#include "checkpoint/text_table.hpp"
#include "layout/paddle_tables.hpp"
#include "layout/table_rows.hpp"
#include "processes/gather_all.hpp"
#include "store/paddle/shard_file.hpp"

namespace ckpt {

namespace {

/// A table in each file, with the key's remainder for a server: a shard.
KeyedTable table_by_shard(const std::string& name, const std::vector<std::string>& fields) {
  KeyedTable table;
  std::string pattern;
  for (const char c : name)
    pattern +=
        std::string_view("*?[{").find(c) == std::string_view::npos ? std::string(1, c) : std::string("[") + c + "]";
  table.name = Pattern(pattern);
  table.keys = "{name}/keys";
  table.rows = {"{name}/value"};
  table.place = std::vector<PlaceStep>{place_step::Mod{}};
  table.fields = {{"{name}/value", fields}};
  return table;
}

Layout layout_by_shard(const TextTable& table, const std::vector<std::uint64_t>& dims, const std::string& origin,
                       const std::vector<std::string>& names) {
  Layout layout;
  layout.origin = origin;
  layout.mesh.axes = {"shard"};
  layout.mesh.shape = {table.shards()};
  FileTemplate::ByCard paths;
  for (std::uint64_t shard = 0; shard < names.size(); ++shard) paths[shard] = names[shard];
  layout.files = CardFiles({FileEntry{FileTemplate(std::move(paths), layout.mesh), ""}});
  layout.tables.push_back(table_by_shard(table.name, table.fields.always()));
  for (const std::uint64_t embedx_dim : dims) {
    layout.tables.push_back(
        table_by_shard(tail_table(table.name, table.fields, embedx_dim), table.fields.tail(embedx_dim)));
    layout.tables.back().tail_of = table.name;
  }
  return layout;
}

/// What all processes together have counted, by shard.
std::vector<ShardCount> count_shards(const TextTable& table, Communicator& processes) {
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto rank = static_cast<std::uint64_t>(processes.rank());
  std::vector<ShardCount> mine;
  agree(processes, [&] {
    mine.resize(table.shards() / size + (rank < table.shards() % size ? 1 : 0));
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency() / unsigned(processes.local_size()));
    for_each_in_parallel(threads, mine.size(), [&](std::uint64_t n) {
      const std::uint64_t shard = n * size + rank;
      mine[n] = count_lines(table.files[shard], table.fields, {shard, table.shards()});
    });
  });
  const auto all = gather_all(mine, processes);
  std::vector<ShardCount> counts;
  for (std::uint64_t shard = 0; shard < table.shards(); ++shard) counts.push_back(all[shard % size].at(shard / size));
  return counts;
}

/// Those of tails: of a table whose rows say them, all that occur.
std::vector<std::uint64_t> dims_of(const TextTable& table, const std::vector<ShardCount>& counts) {
  if (!table.fields.rows_have_dims()) return {table.fields.embedx_dim()};
  std::set<std::uint64_t> dims;
  for (const ShardCount& count : counts)
    for (const auto& [embedx_dim, lines] : count.tails) dims.insert(embedx_dim);
  return {dims.begin(), dims.end()};
}

}  // namespace

void take_shards_as_cards(Look& seen, Communicator& processes) {
  if (!has_paddle_text(*seen.layout)) return;
  std::vector<TextTable> tables;
  agree(processes, [&] {
    if (seen.layout->tables.size() != 1)
      throw Error(Kind::usage, seen.layout->origin,
                  {std::to_string(seen.layout->tables.size()) + " tables of Paddle's text",
                   "expected one, unless they become text again", "give each a layout, and a job, of its own"});
    tables = find_text_tables(*seen.layout, seen.path);
  });
  const TextTable& table = tables.front();
  const std::vector<ShardCount> counts = count_shards(table, processes);
  const std::vector<std::uint64_t> dims = dims_of(table, counts);
  std::vector<std::string> names;
  for (const auto& file : table.files) names.push_back(file.lexically_relative(seen.path).string());
  for (std::uint64_t shard = 0; shard < table.shards(); ++shard)
    seen.known[names[shard]] = {names[shard], shard_catalog(table.name, table.fields, counts[shard], dims)};
  seen.layout = layout_by_shard(table, dims, seen.layout->origin, names);
  seen.elsewhere.reset();
}

}  // namespace ckpt
