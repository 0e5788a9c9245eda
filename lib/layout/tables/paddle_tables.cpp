#include "layout/tables/paddle_tables.hpp"

#include <algorithm>
#include <numeric>

#include "layout/tables/key_place.hpp"
#include "layout/tables/shard_files.hpp"

namespace ckpt {

bool KeyedTable::operator==(const KeyedTable& other) const = default;

bool has_paddle_text(const Layout& layout) {
  return std::any_of(layout.tables.begin(), layout.tables.end(),
                     [](const KeyedTable& table) { return bool(table.text); });
}

bool is_text_alone(const Layout& layout) {
  return has_paddle_text(layout) && layout.parameters.empty() && layout.buckets.empty() &&
         layout.default_rule == Default::error &&
         std::all_of(layout.tables.begin(), layout.tables.end(),
                     [](const KeyedTable& table) { return bool(table.text); });
}

std::string shard_file_template(const PaddleText& text) {
  return text.directory + "/part-{server:03}-{shard:05}" + (text.is_gzip ? ".gz" : "");
}

std::vector<std::uint64_t> servers_of_shards(const KeyedTable& table, std::uint64_t servers) {
  std::vector<std::uint64_t> of_shards(static_cast<std::size_t>(table.text->shards));
  std::iota(of_shards.begin(), of_shards.end(), std::uint64_t{0});
  KeyPlace(table.place.value(), servers).apply_to_shards(of_shards);
  return of_shards;
}

std::vector<std::string> shard_paths(const KeyedTable& table, std::uint64_t servers) {
  std::vector<std::string> paths;
  for (const std::uint64_t server : servers_of_shards(table, servers))
    paths.push_back(table.text->directory + "/" + shard_file_name(server, paths.size(), table.text->is_gzip));
  return paths;
}

std::vector<std::string> text_file_names(const Layout& layout) {
  std::vector<std::string> names;
  for (const KeyedTable& table : layout.tables)
    if (table.text)
      for (std::string& path : shard_paths(table, layout.mesh.size())) names.push_back(std::move(path));
  return names;
}

std::vector<std::string> file_names(const Layout& layout) {
  std::vector<std::string> names = text_file_names(layout);
  if (is_text_alone(layout)) return names;
  for (std::string& path : layout.files.paths(layout.mesh)) names.push_back(std::move(path));
  return names;
}

}  // namespace ckpt
