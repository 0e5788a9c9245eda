#include "tables/keyed/find_key.hpp"

#include <algorithm>

namespace ckpt {

namespace {

constexpr std::uint64_t searched_at_once = 1ULL << 17;  // keys

std::optional<std::uint64_t> row_on(const StoredTable& table, TableReader& reader, Position server, std::uint64_t key) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t row = 0; row < table.rows[server]; row += keys.size()) {
    keys.resize(static_cast<std::size_t>(std::min(searched_at_once, table.rows[server] - row)));
    reader.read_keys(table, server, row, keys);
    const auto found = std::find(keys.begin(), keys.end(), key);
    if (found != keys.end()) return row + static_cast<std::uint64_t>(found - keys.begin());
  }
  return std::nullopt;
}

}  // namespace

KeySearch find_key(const StoredTable& table, TableReader& reader, std::uint64_t key) {
  KeySearch search;
  if (table.keeps_keys_together()) {
    search.trace = table.place->trace(key);
    if (const std::uint64_t server = table.place->server(key); server != KeyPlace::nowhere) search.expected = server;
  }
  std::vector<Position> order;
  if (search.expected) order.push_back(*search.expected);
  for (Position server = 0; server < table.rows.size(); ++server)
    if (server != search.expected) order.push_back(server);
  for (const Position server : order)
    if (const auto row = row_on(table, reader, server, key)) {
      search.server = server;
      search.row = *row;
      break;
    }
  return search;
}

}  // namespace ckpt
