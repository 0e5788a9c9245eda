#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/reshard.hpp"
#include "keyed/newest_rows.hpp"
#include "keyed/shuffle.hpp"
#include "layout/table_rows.hpp"

namespace ckpt {

/// The tables of a job: the target's arrays are not known before it is resolved (`find_target_arrays`).
struct TablePlan {
  std::vector<TableMove> moves;  ///< those of one table one behind the other, by layer
  std::vector<TableOffsets> offsets;
  std::map<std::string, KeptRows> kept;                      ///< by the tables of which not all rows are taken
  std::map<std::string, std::vector<KeptRows>> kept_before;  ///< in the jobs that made the sources
  std::vector<std::string> layers;  ///< names of the checkpoints that tables come from, oldest first
};

/// A table as one layer has it.
struct PlannedLayer {
  StoredTable table;
  std::optional<RowFilter> filter;
  std::optional<StoredTable> deletions;
  TableShare share;  // where it moves by its keys
  TableShare deletion_share;
};

/// A table on its way into a plan.
struct PlannedTable {
  std::vector<PlannedLayer> layers;   ///< oldest first
  TableDatasets datasets;             ///< of the target
  std::optional<std::size_t> leader;  ///< the one whose rows it follows, among those that are planned
  std::optional<RowGroups> to;
  std::optional<RangeMove> range;
};

/// Makes tables a part of a plan: chooses their rows, counts them, and says where they go.
class TablePlanner {
 public:
  /// `sources`: the checkpoints of all layers, oldest first.
  TablePlanner(const ReshardJob& job, const std::vector<const Checkpoint*>& sources, SourceStore& reading,
               Communicator& processes);

  /// Gives the rows, and the offsets, that each of the target's servers gets. Collective.
  std::vector<TableRows> add(std::vector<PlannedTable> tables, const Layout& target, TablePlan& plan);

 private:
  void prepare(PlannedTable& each, bool loses_rows, const Layout& target);
  void filter(PlannedTable& each, TablePlan& plan);
  void choose_newest(std::vector<PlannedTable>& tables, std::size_t leader, TablePlan& plan);
  TableRows add_range(PlannedTable& each, TablePlan& plan);
  TableRows add_move(PlannedTable& each, TablePlan& plan);
  bool is_layered() const { return readers_.count() > 1; }

  const ReshardJob& job_;
  Communicator& processes_;
  CensusMeans means_;
  TableReaders readers_;  // of each layer
};

}  // namespace ckpt
