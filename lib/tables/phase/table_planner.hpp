#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "jobs/types/reshard_job.hpp"
#include "layout/tables/table_rows.hpp"
#include "tables/keyed/newest_rows.hpp"
#include "tables/keyed/shuffle.hpp"

namespace ckpt {

/// A job's tables: the target's arrays are known only once it is resolved (`find_target_arrays`).
struct TablePlan {
  std::vector<TableMove> moves;  ///< grouped by table, in the order of layers
  std::vector<TableOffsets> offsets;
  std::map<std::string, KeptRows> kept;                      ///< for the tables of which not all rows are taken
  std::map<std::string, std::vector<KeptRows>> kept_before;  ///< in the jobs that made the sources
  std::vector<std::string> layers;  ///< names of the checkpoints that tables come from, oldest first
};

/// A table in one layer.
struct PlannedLayer {
  StoredTable table;
  std::optional<RowFilter> filter;
  std::optional<StoredTable> deletions;
  TableShare share;  // if it moves by its keys
  TableShare deletion_share;
};

/// A table on its way into a plan.
struct PlannedTable {
  std::vector<PlannedLayer> layers;   ///< oldest first
  TableDatasets datasets;             ///< of the target
  std::optional<std::size_t> leader;  ///< the planned table whose rows it follows
  std::optional<RowGroups> to;
  std::optional<RangeMove> range;
};

/// Adds tables to a plan: chooses their rows, counts them, and decides where they go.
class TablePlanner {
 public:
  /// `sources`: the checkpoints of all layers, oldest first.
  TablePlanner(const ReshardJob& job, const std::vector<const Checkpoint*>& sources, SourceStore& reading,
               Communicator& processes);

  /// Returns the rows and the offsets that each of the target's servers gets. Collective.
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
  CensusContext context_;
  TableReaders readers_;  // one for each layer
};

}  // namespace ckpt
