#pragma once

#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/reshard.hpp"
#include "keyed/shuffle.hpp"

namespace ckpt {

/// The tables that a job moves: `arrays` of each are not known before the target is resolved.
struct TablePlan {
  std::vector<TableMove> moves;
  Layout target;  ///< with the rows that each server gets
};

/// Counts the keys of the source's tables by the target's servers, and checks them on the way (`take_census`). A target
/// of one card without tables of its own gets the source's. Collective. Throws usage or layout for what cannot be done
/// with tables, input for keys that are misplaced or stand twice.
TablePlan plan_tables(const ReshardJob& job, const Checkpoint& checkpoint, const Placement& source,
                      const Selection& selection, Layout target, SourceStore& reading, Communicator& processes);

/// The target's array of each part of the tables.
void find_target_arrays(const Placement& target, std::vector<TableMove>& moves);

/// As the manifest tells of them. `sums` as TableShuffle gives them; empty: not known yet, or never.
/// `with_fingerprints`: there is to be one in any case.
std::vector<ManifestTable> manifest_tables(const std::vector<TableMove>& moves, const TableShuffle::Sums& sums,
                                           bool with_fingerprints);

/// All that is the tables' of a target's files, and what is finished of the rest: no work for an exchange.
Finished without_tables(const Finished& finished, const Placement& target, const std::vector<TableMove>& moves);

}  // namespace ckpt
