#pragma once

#include <vector>

#include "jobs/types/compare_job.hpp"
#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// One side of a comparison of tables.
struct TableSide {
  const Checkpoint& files;
  const Placement& placement;
  std::function<bool(ParameterId)> counts;  ///< whether one of its parameters is compared
};

/// How the tables that both sides have differ as sets of (key, row), whatever their servers and order; also checks
/// where their keys lie (`check_keys`). Leaves out parts that only one side has. Collective.
std::vector<Difference> compare_tables(const TableSide& a, const TableSide& b, const Resources& resources,
                                       SourceStore& store, Communicator& processes);

}  // namespace ckpt
