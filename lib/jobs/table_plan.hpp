#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "jobs/table_layers.hpp"
#include "jobs/table_planner.hpp"

namespace ckpt {

/// A plan, and the target's layout with the rows that each server gets.
struct PlannedTables {
  TablePlan plan;
  Layout target;
};

/// Counts the keys of the source's tables by the target's servers, and checks them on the way (`take_census`). Tables
/// whose rows are grouped by the same shards on both sides are counted by these, and their keys are looked at only
/// where the job reads all again. Of several sources, oldest first, each key's newest row is taken; filters choose
/// among these before they are counted; tails go where their rows go. A target of one card without tables of its own
/// gets the source's. `selection`, made from source `principal`, gets the rows that are left, and the target's datasets
/// of where shards begin in the place of the source's. Collective. Throws usage or layout for what cannot be done with
/// tables, input for keys that are misplaced or stand twice.
PlannedTables plan_tables(const ReshardJob& job, const std::vector<TableSource>& sources, std::size_t principal,
                          Selection& selection, Layout target, SourceStore& reading, Communicator& processes);

/// The target's array of each part of the tables, and of where their shards begin.
void find_target_arrays(const Placement& target, TablePlan& plan);

/// Those of the target's arrays that no exchange fills.
std::set<ArrayId> table_arrays(const TablePlan& plan);

/// As the manifest tells of them. `sums` as TableShuffle gives them; empty: not known yet, or never.
/// `with_fingerprints`: there is to be one in any case.
std::vector<ManifestTable> manifest_tables(const TablePlan& plan, const TableShuffle::Sums& sums,
                                           bool with_fingerprints);

/// All that is the tables' of a target's files, and what is finished of the rest: no work for an exchange.
Finished without_tables(const Finished& finished, const Placement& target, const TablePlan& plan);

}  // namespace ckpt
