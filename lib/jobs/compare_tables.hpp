#pragma once

#include <vector>

#include "jobs/compare.hpp"
#include "keyed/stored_table.hpp"

namespace ckpt {

/// One side of a comparison, as far as its tables are concerned.
struct TableSide {
  const Checkpoint& files;
  const Placement& placement;
  std::function<bool(ParameterId)> counts;  ///< of its parameters
};

/// How the tables that both sides have differ as sets of (key, row), whatever servers and order; where their keys lie
/// is checked on the way (`check_keys`). Parts that only one side has are left out. Collective.
std::vector<Difference> compare_tables(const TableSide& a, const TableSide& b, const Resources& resources,
                                       SourceStore& store, Communicator& processes);

}  // namespace ckpt
