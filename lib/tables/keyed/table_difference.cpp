#include "tables/keyed/table_difference.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "processes/gather_all.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::size_t class_count = 4096;
constexpr unsigned class_shift = 52;  // the highest bits of a mixed key

std::size_t class_of(std::uint64_t key) {
  return static_cast<std::size_t>(mix(key) >> class_shift);
}

/// A row as its key and a sum of all its values.
struct RowDigest {
  std::uint64_t key = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator<(const RowDigest& a, const RowDigest& b) noexcept { return a.key < b.key; }
};

/// Reads this process's share of one side.
class Side {
 public:
  Side(const ComparedTable& side, const CensusContext& context, const Communicator& processes)
      : side_(side),
        context_(context),
        batches_(side.table.rows, std::max<std::uint64_t>(batch_bytes(context.memory_bytes / 2, context.threads) /
                                                              std::max<std::uint64_t>(side.table.row_bytes(), 1),
                                                          1)),
        own_(batches_.share(side.reader.checkpoint(), static_cast<std::uint32_t>(processes.rank()),
                            static_cast<std::uint32_t>(processes.size()))) {}

  /// Calls visit(digests of a batch's rows) on several threads, for the rows whose class is in `wanted`.
  template <class Visit>
  void for_each_batch(const std::vector<bool>& wanted, const Visit& visit) {
    for_each_in_parallel(context_.threads, own_.size(),
                         [&](std::uint64_t n) { visit(digests(batches_[own_[n]], wanted)); });
  }

 private:
  std::vector<RowDigest> digests(const Batch& batch, const std::vector<bool>& wanted) {
    const auto rows = static_cast<std::size_t>(batch.rows.size());
    std::vector<std::uint64_t> keys(rows);
    side_.reader.read_keys(side_.table, batch.server, batch.rows.lo, keys);
    std::vector<PartialSum> sums(rows);
    for (std::size_t p = 1; p < side_.table.parts.size(); ++p) {
      const TablePart& part = side_.table.parts[p];
      const Buffer data(rows * part.row_bytes());
      side_.reader.read(part, batch.server, batch.rows.lo, data.first(data.size()));
      for (std::size_t row = 0; row < rows; ++row)
        if (wanted[class_of(keys[row])]) part.sums.add(keys[row], data.data() + row * part.row_bytes(), sums[row]);
    }
    std::vector<RowDigest> found;
    for (std::size_t row = 0; row < rows; ++row)
      if (wanted[class_of(keys[row])]) found.push_back({keys[row], sums[row].low, sums[row].high});
    return found;
  }

  const ComparedTable& side_;
  const CensusContext& context_;
  Batches batches_;
  std::vector<std::uint64_t> own_;
};

/// The sum of the rows of each class, and their number.
using ClassSums = std::vector<PartialSum>;

ClassSums sum_classes(Side& side, Communicator& processes) {
  ClassSums sums(class_count);
  std::mutex mutex;
  const std::vector<bool> all(class_count, true);
  agree(processes, [&] {
    side.for_each_batch(all, [&](const std::vector<RowDigest>& rows) {
      const std::lock_guard lock(mutex);
      for (const RowDigest& row : rows)  // mixed once more with the key: a table of keys alone has nothing else
        sums[class_of(row.key)] += {mix(row.low ^ mix(row.key)), mix(row.high + row.key), 1};
    });
  });
  ClassSums together(class_count);
  for (const ClassSums& theirs : gather_all(sums, processes))
    for (std::size_t c = 0; c < class_count; ++c) together[c] += theirs[c];
  return together;
}

/// Returns the rows of some classes that this process compares, sorted by key: class c belongs to process c % P.
std::vector<RowDigest> collect(Side& side, const std::vector<bool>& wanted, Communicator& processes) {
  const auto size = static_cast<std::size_t>(processes.size());
  std::vector<std::vector<RowDigest>> to_peer(size);
  std::mutex mutex;
  agree(processes, [&] {
    side.for_each_batch(wanted, [&](const std::vector<RowDigest>& rows) {
      const std::lock_guard lock(mutex);
      for (const RowDigest& row : rows) to_peer[class_of(row.key) % size].push_back(row);
    });
  });
  std::vector<RowDigest> mine;
  for (const auto& theirs : exchange_values(std::move(to_peer), processes))
    mine.insert(mine.end(), theirs.begin(), theirs.end());
  std::sort(mine.begin(), mine.end());
  return mine;
}

void compare_sorted(const std::vector<RowDigest>& a, const std::vector<RowDigest>& b, TableDifference& difference) {
  auto in_b = b.begin();
  for (const RowDigest& row : a) {
    for (; in_b != b.end() && in_b->key < row.key; ++in_b) difference.only_in_b.add(in_b->key);
    if (in_b == b.end() || in_b->key != row.key) {
      difference.only_in_a.add(row.key);
      continue;
    }
    if (in_b->low != row.low || in_b->high != row.high) difference.rows.add(row.key);
    ++in_b;
  }
  for (; in_b != b.end(); ++in_b) difference.only_in_b.add(in_b->key);
}

}  // namespace

void DifferingKeys::add(std::uint64_t key) {
  ++count;
  if (some.size() == most_named && key > some.back()) return;
  some.insert(std::lower_bound(some.begin(), some.end(), key), key);
  if (some.size() > most_named) some.pop_back();
}

void DifferingKeys::add(const DifferingKeys& other) {
  const std::uint64_t together = count + other.count;
  for (const std::uint64_t key : other.some) add(key);
  count = together;
}

TableDifference difference(const ComparedTable& a, const ComparedTable& b, const CensusContext& context,
                           Communicator& processes) {
  Side side_a(a, context, processes);
  Side side_b(b, context, processes);
  const ClassSums of_a = sum_classes(side_a, processes);
  const ClassSums of_b = sum_classes(side_b, processes);
  // Each collected row exists three times for each table: collected, in transit, and received.
  const std::uint64_t most = std::max<std::uint64_t>(context.memory_bytes / (6 * sizeof(RowDigest)), 1);
  TableDifference mine;
  for (std::size_t next = 0; next < class_count;) {
    std::vector<bool> wanted(class_count, false);
    std::uint64_t rows = 0;
    for (; next < class_count && rows < most; ++next) {
      wanted[next] = !(of_a[next] == of_b[next]);
      if (wanted[next]) rows += of_a[next].bytes + of_b[next].bytes;
    }
    if (rows == 0) continue;
    const auto rows_of_a = collect(side_a, wanted, processes);
    const auto rows_of_b = collect(side_b, wanted, processes);
    compare_sorted(rows_of_a, rows_of_b, mine);
  }
  TableDifference all;
  for (const TableDifference& theirs : gather_all(mine, processes)) {
    all.only_in_a.add(theirs.only_in_a);
    all.only_in_b.add(theirs.only_in_b);
    all.rows.add(theirs.rows);
  }
  return all;
}

}  // namespace ckpt
