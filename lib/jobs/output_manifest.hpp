#pragma once

#include <string>
#include <vector>

#include "jobs/job_output.hpp"
#include "jobs/reshard_plan.hpp"
#include "tables/phase/text_tables.hpp"

namespace ckpt {

/// The inputs of an output's manifest.
struct ManifestParts {
  const ReshardJob& job;
  const ReshardSides& sides;
  const TextTables& text;
  const ContentSums* sums;  ///< of the written data; null: nothing is verified
  const TableShuffle::Sums& table_sums;
  const std::vector<Sidecar>& sidecars;  ///< small files of the output, on process 0
};

/// Writes the manifest into the output's one file or its directory; there, also the files beside the data, an index
/// last: without it, a directory is not a checkpoint. Returns, on process 0, the manifest's text if the output goes to
/// a pipe. Collective.
std::string write_manifest(const ManifestParts& parts, TargetFiles& files, JobOutput& output, Communicator& processes);

}  // namespace ckpt
