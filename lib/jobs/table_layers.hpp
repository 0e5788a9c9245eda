#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs/reshard.hpp"
#include "jobs/table_planner.hpp"

namespace ckpt {

/// A checkpoint whose tables are taken: the job's source, or one of its deltas.
struct TableSource {
  const Checkpoint* files;
  const Placement* placement;
};

/// The tables that are taken, sorted by name, each as all sources have it, oldest first. Of a single source, deleted
/// keys are a table like others; of several, they belong to the layer. Throws input where a source has other tables
/// than the others, or other datasets of one, usage for filters that cannot be.
std::vector<PlannedTable> layered_tables(const ReshardJob& job, const std::vector<TableSource>& sources);

/// Adds to a selection of the principal source the tables that only others have. What their datasets are said to come
/// from, those of the table whose rows they follow, is never read: they are filled by key.
void add_of_other_layers(const std::vector<PlannedTable>& tables, const std::vector<TableSource>& sources,
                         std::size_t principal, Selection& selection);

/// The checkpoints' paths below the directory that has them all, wherever it lies: "20190721/base".
std::vector<std::string> names_of_layers(const std::vector<const Checkpoint*>& sources);

/// Root attributes of checkpoints, oldest first: each from the newest that has it, there from the lowest card's file.
std::vector<Attribute> newest_attributes(const std::vector<const Checkpoint*>& sources);

/// By which conditions rows of the sources' tables were chosen in the jobs that made them, each once.
std::map<std::string, std::vector<KeptRows>> kept_before(const std::vector<const Checkpoint*>& sources);

/// Warns where a source has only the rows that a condition has left, and the output is one to go on training with:
/// anything but a single file.
void warn_of_filtered(const ReshardJob& job, const std::vector<const Checkpoint*>& sources);
/// The same of one source, by what its manifest tells of its tables.
void warn_of_filtered(const std::map<std::string, ManifestTable>& tables, const std::filesystem::path& source);

/// Throws input where a delta says that it is of another base (root attribute `base_key`) than an older source.
void check_base_keys(const std::vector<const Checkpoint*>& sources);

}  // namespace ckpt
