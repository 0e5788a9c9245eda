#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "tables/phase/table_layers.hpp"
#include "tables/phase/table_planner.hpp"

namespace ckpt {

/// A plan, and the target's layout with the rows that each server gets.
struct PlannedTables {
  TablePlan plan;
  Layout target;
};

/// Counts the keys of the source's tables by the target's servers, and checks them on the way (`take_census`). If both
/// sides group a table's rows by the same shards, it is counted by shard, and its keys are checked only if the job
/// reads everything again. From several sources, oldest first, takes each key's newest row; then filters choose among
/// these rows, which are counted last; tails go where their rows go. A target of one card without tables of its own
/// gets the source's. Updates `selection`, made from source `principal`, to the remaining rows, and replaces the
/// source's offsets of shards by the target's. Collective. Throws usage or layout for what tables cannot do, input for
/// misplaced and repeated keys.
PlannedTables plan_tables(const ReshardJob& job, const std::vector<TableSource>& sources, std::size_t principal,
                          Selection& selection, Layout target, SourceStore& reading, Communicator& processes);

/// Removes the offsets of the shards of the source's tables, since other servers have other shards. With `deletions`,
/// also removes the keys that tables delete from older layers.
void leave_out_of_tables(const Placement& source, bool deletions, Selection& selection);

/// Finds the target's array of each part of the tables, and of their shards' offsets.
void find_target_arrays(const Placement& target, TablePlan& plan);

/// The target's arrays that no exchange fills.
std::set<ArrayId> table_arrays(const TablePlan& plan);

/// The manifest's tables. `sums` as TableShuffle returns them; empty: not known yet, or never. `with_fingerprints`:
/// reserves room for fingerprints in any case.
std::vector<ManifestTable> manifest_tables(const TablePlan& plan, const TableShuffle::Sums& sums,
                                           bool with_fingerprints);

/// Adds all arrays of tables to what is finished of the target's files: an exchange has no work with them.
Finished without_tables(const Finished& finished, const Placement& target, const TablePlan& plan);

}  // namespace ckpt
