#pragma once

#include <cstdint>
#include <vector>

#include "tables/keyed/census.hpp"

namespace ckpt {

/// Keys that differ between two tables: how many, and some of them, lowest first.
struct DifferingKeys {
  static constexpr std::size_t most_named = 16;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> some;

  void add(std::uint64_t key);
  void add(const DifferingKeys& other);
};

/// How two tables differ as sets of (key, row).
struct TableDifference {
  DifferingKeys only_in_a;
  DifferingKeys only_in_b;
  DifferingKeys rows;  ///< in both, with different rows

  bool empty() const noexcept { return only_in_a.count + only_in_b.count + rows.count == 0; }
};

/// A table of one side, and how to read it: the parts of both sides are the same, in the same order.
struct ComparedTable {
  const StoredTable& table;
  TableReader& reader;
};

/// Compares sums of rows with their keys, in 4,096 classes of keys. Only the rows of classes that differ are compared
/// one by one, as many classes at a time as the memory holds. The places of rows do not matter. Collective, with the
/// same result on every process.
TableDifference difference(const ComparedTable& a, const ComparedTable& b, const CensusContext& context,
                           Communicator& processes);

}  // namespace ckpt
