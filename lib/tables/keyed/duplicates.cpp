#include "tables/keyed/duplicates.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "tables/keyed/repeated_keys.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_readings = 4;        // of a file, only so that more threads take part
constexpr std::uint64_t piece_keys = 1ULL << 15;  // read at a time: they stay in the second-level cache

/// The servers whose keys are checked together, and the subset of these keys.
struct KeyShare {
  Position first = 0;
  Position last = 0;
  KeySubset subset;
};

/// A thread's buffers, which it reuses for each share.
struct KeyWork {
  std::uint64_t most = 0;  // limit on keys at a time
  std::vector<std::uint64_t> piece;
  RepeatedKeys repeated;
};

/// Calls take(server, row, keys) for all keys of these servers, piece by piece.
template <class Take>
void for_each_piece(const StoredTable& table, TableReader& reader, const KeyShare& share,
                    std::vector<std::uint64_t>& piece, const Take& take) {
  piece.resize(piece_keys);
  for (Position server = share.first; server <= share.last; ++server)
    for (std::uint64_t row = 0; row < table.rows[server]; row += piece_keys) {
      const auto keys = std::span(piece).first(std::min(piece_keys, table.rows[server] - row));
      reader.read_keys(table, server, row, keys);
      take(server, row, std::span<const std::uint64_t>(keys));
    }
}

[[noreturn]] void refuse_changed(const StoredTable& table, TableReader& reader, const KeyShare& share) {
  throw Error(Kind::io, reader.describe(table.keys(), share.first), {"its keys changed while they were read", "", ""});
}

/// `found`: ascending.
[[noreturn]] void refuse_duplicate(const StoredTable& table, TableReader& reader, const KeyShare& share,
                                   const std::vector<std::uint64_t>& found) {
  std::map<std::uint64_t, std::pair<Position, std::uint64_t>> seen;
  std::vector<std::uint64_t> piece;
  const auto look = [&](Position server, std::uint64_t row, std::uint64_t key) {
    if (!std::binary_search(found.begin(), found.end(), key)) return;
    const auto [before, is_new] = seen.try_emplace(key, server, row);
    if (is_new) return;
    const auto& [other, other_row] = before->second;
    throw Error(
        Kind::input, reader.describe(table.keys(), server),
        {"row " + std::to_string(row) + " has key " + table.key_text(key) + ", as row " + std::to_string(other_row) +
             (other == server ? "" : " of " + reader.describe(table.keys(), other)) + " has (" +
             (found.size() >= RepeatedKeys::most_named ? "at least " : "") + std::to_string(found.size()) +
             (found.size() == 1 ? " key stands" : " keys stand") + " more than once)",
         "each key once in table '" + table.name + "'", "which of the rows is the right one only its writer knows"});
  };
  for_each_piece(table, reader, share, piece, [&](Position server, std::uint64_t row, auto keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) look(server, row + i, keys[i]);
  });
  refuse_changed(table, reader, share);
}

void check_share(const StoredTable& table, TableReader& reader, const KeyShare& share, KeyWork& work) {
  std::uint64_t keys_of_servers = 0;
  for (Position server = share.first; server <= share.last; ++server) keys_of_servers += table.rows[server];
  const auto found = work.repeated.find(
      [&](const RepeatedKeys::Take& take) {
        for_each_piece(table, reader, share, work.piece,
                       [&](Position, std::uint64_t, std::span<const std::uint64_t> keys) { take(keys); });
      },
      share.subset, work.most, keys_of_servers >> share.subset.bits);
  if (!found) refuse_changed(table, reader, share);
  if (!found->empty()) refuse_duplicate(table, reader, share, *found);
}

}  // namespace

void check_no_duplicates(const StoredTable& table, TableReader& reader, std::uint64_t memory_bytes, unsigned threads,
                         Communicator& processes) {
  const Checkpoint& checkpoint = reader.checkpoint();
  const auto process = static_cast<std::uint32_t>(processes.rank());
  const auto process_count = static_cast<std::uint32_t>(processes.size());
  const bool by_file = table.keeps_keys_together();
  const std::uint64_t groups = by_file ? table.rows.size() : 1;
  const std::uint64_t most = by_file ? *std::max_element(table.rows.begin(), table.rows.end()) : table.total_rows();
  const std::uint64_t memory = std::max<std::uint64_t>(memory_bytes / threads, 1);
  const std::uint64_t needed = ceil_div(checked_mul(most, RepeatedKeys::bytes_per_key, "a table"), memory);
  const std::uint64_t wanted = std::min(ceil_div(std::uint64_t{threads} * process_count, groups), most_readings);
  const auto bits = static_cast<unsigned>(std::bit_width(std::max(needed, wanted) - 1));
  const Owners owner_of = checkpoint.is_shared() ? Owners{} : checkpoint.owners(process_count);
  agree(processes, [&] {
    if (!by_file && !owner_of.empty())
      throw Error(Kind::usage, "table '" + table.name + "'",
                  {"its place does not follow from its keys, and no process sees all of its files",
                   "every process to see every file", "put the files where all processes see them"});
    std::vector<KeyShare> own;
    for (std::uint64_t group = 0; group < groups; ++group)
      for (std::uint64_t number = 0; number < 1ULL << bits; ++number)
        if ((owner_of.empty() ? ((group << bits) + number) % process_count : owner_of[group]) == process)
          own.push_back({by_file ? group : 0, by_file ? group : table.rows.size() - 1, {bits, number}});
    for_each_in_parallel(
        threads, own.size(),
        [&] {
          return KeyWork{memory / sizeof(std::uint64_t), {}, {}};
        },
        [&](KeyWork& work, std::uint64_t n) { check_share(table, reader, own[n], work); });
  });
}

}  // namespace ckpt
