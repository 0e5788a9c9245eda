#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs/types/reshard_job.hpp"
#include "tables/phase/table_planner.hpp"

namespace ckpt {

/// A checkpoint whose tables are taken: the job's source, or one of its deltas.
struct TableSource {
  const Checkpoint* files;
  const Placement* placement;
};

/// The tables that are taken, sorted by name, each as all sources have it, oldest first. Deleted keys are ordinary
/// tables of a single source; with several sources they belong to the layer. Throws input if a source has other tables
/// than the others, or other datasets for one; usage for impossible filters.
std::vector<PlannedTable> layered_tables(const ReshardJob& job, const std::vector<TableSource>& sources);

/// Adds to a selection of the principal source the tables that only others have. Records as the source of their
/// datasets those of the table whose rows they follow; these are never read: the datasets are filled by key.
void add_of_other_layers(const std::vector<PlannedTable>& tables, const std::vector<TableSource>& sources,
                         std::size_t principal, Selection& selection);

/// The checkpoints' paths below the directory that has them all, wherever it is: "20190721/base".
std::vector<std::string> names_of_layers(const std::vector<const Checkpoint*>& sources);

/// Root attributes of checkpoints (`sources`, oldest first): each from the newest that has it, from its lowest card's
/// file.
std::vector<Attribute> newest_attributes(const std::vector<const Checkpoint*>& sources);

/// The conditions by which the jobs that made the sources chose their tables' rows, each once.
std::map<std::string, std::vector<KeptRows>> kept_before(const std::vector<const Checkpoint*>& sources);

/// Warns if a source has only the rows that a condition left, and the output is meant for further training: anything
/// but a single file.
void warn_of_filtered(const ReshardJob& job, const std::vector<const Checkpoint*>& sources);
/// As above for one source, by its manifest's facts about tables.
void warn_of_filtered(const std::map<std::string, ManifestTable>& tables, const std::filesystem::path& source);

/// Throws input if a delta names another base (root attribute `base_key`) than an older source.
void check_base_keys(const std::vector<const Checkpoint*>& sources);

}  // namespace ckpt
