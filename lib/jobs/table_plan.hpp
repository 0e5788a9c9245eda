#pragma once

#include <set>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/reshard.hpp"
#include "keyed/range_move.hpp"
#include "keyed/shuffle.hpp"

namespace ckpt {

/// The tables of a job: the target's arrays are not known before it is resolved (`find_target_arrays`).
struct TablePlan {
  std::vector<TableMove> moves;       ///< by their keys
  std::vector<RangeMove> ranges;      ///< by regions
  std::vector<TableOffsets> offsets;  ///< of either
};

/// Those, and the target's layout with the rows that each server gets.
struct PlannedTables {
  TablePlan plan;
  Layout target;
};

/// Counts the keys of the source's tables by the target's servers, and checks them on the way (`take_census`). Tables
/// whose rows are grouped by the same shards on both sides are counted by these, and their keys are looked at only
/// where the job reads all again. A target of one card without tables of its own gets the source's. `selection` gets
/// the target's datasets of where shards begin, in the place of the source's. Collective. Throws usage or layout for
/// what cannot be done with tables, input for keys that are misplaced or stand twice.
PlannedTables plan_tables(const ReshardJob& job, const Checkpoint& checkpoint, const Placement& source,
                          Selection& selection, Layout target, SourceStore& reading, Communicator& processes);

/// The target's array of each part of the tables, and of where their shards begin.
void find_target_arrays(const Placement& target, TablePlan& plan);

/// Those of the target's arrays that no exchange fills.
std::set<ArrayId> table_arrays(const TablePlan& plan);

/// As the manifest tells of them. `sums` as TableShuffle gives them; empty: not known yet, or never.
/// `with_fingerprints`: there is to be one in any case, but of tables that regions move.
std::vector<ManifestTable> manifest_tables(const TablePlan& plan, const TableShuffle::Sums& sums,
                                           bool with_fingerprints);

/// All that is the tables' of a target's files, and what is finished of the rest: no work for an exchange.
Finished without_tables(const Finished& finished, const Placement& target, const TablePlan& plan);

}  // namespace ckpt
