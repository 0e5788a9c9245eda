#include "keyed/duplicates.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t bucket_keys = 8192;       // their table stays in the second-level cache
constexpr std::uint64_t piece_keys = 1ULL << 17;  // read at a time
constexpr std::uint64_t bytes_per_key = 18;       // the list, its copy in buckets, and their counts
constexpr std::size_t most_named = 1024;

/// The top `bits` of a value; 0 where bits is 0.
std::uint64_t top(std::uint64_t value, unsigned bits) {
  return bits == 0 ? 0 : value >> (64 - bits);
}

/// A set with linear probing, for mixed values: the bits from the 24th on are as good as random, those around them are
/// the same in one bucket of one subset.
class MixedSet {
 public:
  /// `most` values: the slots are at most two thirds full.
  explicit MixedSet(std::size_t most) : slots_(std::bit_ceil(most + most / 2 + 1)) {}

  void clear() {
    std::fill(slots_.begin(), slots_.end(), 0);
    has_zero_ = false;
  }

  /// False where it is in already.
  bool add(std::uint64_t value) {
    if (value == 0) return !std::exchange(has_zero_, true);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (value >> 24) & mask;; at = (at + 1) & mask) {
      if (slots_[at] == value) return false;
      if (slots_[at] != 0) continue;
      slots_[at] = value;
      return true;
    }
  }

 private:
  std::vector<std::uint64_t> slots_;
  bool has_zero_ = false;
};

/// One file's share of a table's keys, or all files', of one subset.
struct KeySubset {
  Position first = 0;
  Position last = 0;
  unsigned bits = 0;
  std::uint64_t number = 0;
};

/// Calls visit(server, row, key) for all keys of these servers.
template <class Visit>
void for_each_key(const StoredTable& table, TableReader& reader, Position first, Position last, const Visit& visit) {
  std::vector<std::uint64_t> keys;
  for (Position server = first; server <= last; ++server)
    for (std::uint64_t row = 0; row < table.rows[server]; row += keys.size()) {
      keys.resize(static_cast<std::size_t>(std::min(piece_keys, table.rows[server] - row)));
      reader.read_keys(table, server, row, keys);
      for (std::size_t i = 0; i < keys.size(); ++i) visit(server, row + i, keys[i]);
    }
}

[[noreturn]] void refuse_duplicate(const StoredTable& table, TableReader& reader, const KeySubset& subset,
                                   const std::vector<std::uint64_t>& found) {
  const std::set<std::uint64_t> wanted(found.begin(), found.end());
  std::map<std::uint64_t, std::pair<Position, std::uint64_t>> seen;
  for_each_key(table, reader, subset.first, subset.last, [&](Position server, std::uint64_t row, std::uint64_t key) {
    if (!wanted.contains(mix(key))) return;
    const auto [before, is_new] = seen.try_emplace(key, server, row);
    if (is_new) return;
    const auto& [other, other_row] = before->second;
    throw Error(
        Kind::input, reader.describe(table.keys(), server),
        {"row " + std::to_string(row) + " has key " + table.key_text(key) + ", as row " + std::to_string(other_row) +
             (other == server ? "" : " of " + reader.describe(table.keys(), other)) + " has (" +
             (found.size() >= most_named ? "at least " : "") + std::to_string(found.size()) +
             (found.size() == 1 ? " key stands" : " keys stand") + " more than once)",
         "expected each key once in table '" + table.name + "'",
         "which of the rows is the right one only its writer knows"});
  });
  throw Error(Kind::io, reader.describe(table.keys(), subset.first), {"its keys changed while they were read", "", ""});
}

void check_subset(const StoredTable& table, TableReader& reader, const KeySubset& subset) {
  std::vector<std::uint64_t> mixed;
  std::uint64_t rows = 0;
  for (Position server = subset.first; server <= subset.last; ++server) rows += table.rows[server];
  mixed.reserve(static_cast<std::size_t>((rows >> subset.bits) + (rows >> (subset.bits + 4)) + 64));
  for_each_key(table, reader, subset.first, subset.last, [&](Position, std::uint64_t, std::uint64_t key) {
    const std::uint64_t value = mix(key);
    if (top(value, subset.bits) == subset.number) mixed.push_back(value << subset.bits | subset.number);
  });
  std::vector<std::uint64_t> found = repeated(mixed);
  if (found.empty()) return;
  for (std::uint64_t& value : found) value = std::rotr(value, static_cast<int>(subset.bits));
  refuse_duplicate(table, reader, subset, found);
}

}  // namespace

std::vector<std::uint64_t> repeated(std::vector<std::uint64_t>& values) {
  const auto bits = static_cast<unsigned>(std::bit_width(values.size() / bucket_keys));
  std::vector<std::size_t> ends((std::size_t{1} << bits) + 1, 0);
  for (const std::uint64_t value : values) ++ends[top(value, bits) + 1];
  const std::size_t largest = *std::max_element(ends.begin(), ends.end());
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::uint64_t> sorted(values.size());
  for (const std::uint64_t value : values) sorted[ends[top(value, bits)]++] = value;  // ends: now of each bucket
  values.swap(sorted);
  sorted = {};
  std::set<std::uint64_t> found;
  std::size_t first = 0;
  MixedSet seen(largest);
  for (std::size_t bucket = 0; bucket + 1 < ends.size() && found.size() < most_named; ++bucket) {
    seen.clear();
    for (; first < ends[bucket]; ++first)
      if (!seen.add(values[first]) && found.size() < most_named) found.insert(values[first]);
  }
  return {found.begin(), found.end()};
}

void check_no_duplicates(const StoredTable& table, TableReader& reader, std::uint64_t memory_bytes, unsigned threads,
                         Communicator& processes) {
  const Checkpoint& checkpoint = reader.checkpoint();
  const auto process = static_cast<std::uint32_t>(processes.rank());
  const auto process_count = static_cast<std::uint32_t>(processes.size());
  const bool by_file = table.keeps_keys_together();
  const std::uint64_t groups = by_file ? table.rows.size() : 1;
  const std::uint64_t most = by_file ? *std::max_element(table.rows.begin(), table.rows.end()) : table.total_rows();
  const std::uint64_t needed =
      ceil_div(checked_mul(most, bytes_per_key, "a table"), std::max<std::uint64_t>(memory_bytes / threads, 1));
  const std::uint64_t wanted = ceil_div(std::uint64_t{threads} * process_count, groups);
  const auto bits = static_cast<unsigned>(std::bit_width(std::max(needed, wanted) - 1));
  const Owners owner_of = checkpoint.is_shared() ? Owners{} : checkpoint.owners(process_count);
  agree(processes, [&] {
    if (!by_file && !owner_of.empty())
      throw Error(Kind::usage, "table '" + table.name + "'",
                  {"its place does not follow from its keys, and no process sees all of its files",
                   "expected every process to see every file", "put the files where all processes see them"});
    std::vector<KeySubset> own;
    for (std::uint64_t group = 0; group < groups; ++group)
      for (std::uint64_t number = 0; number < 1ULL << bits; ++number)
        if ((owner_of.empty() ? ((group << bits) + number) % process_count : owner_of[group]) == process)
          own.push_back({by_file ? group : 0, by_file ? group : table.rows.size() - 1, bits, number});
    for_each_in_parallel(threads, own.size(), [&](std::uint64_t n) { check_subset(table, reader, own[n]); });
  });
}

}  // namespace ckpt
