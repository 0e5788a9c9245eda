#pragma once

#include <string>
#include <vector>

#include "jobs/job_output.hpp"
#include "jobs/reshard_plan.hpp"
#include "jobs/text_tables.hpp"

namespace ckpt {

/// What the manifest of an output is made of.
struct ManifestParts {
  const ReshardJob& job;
  const ReshardSides& sides;
  const TextTables& text;
  const ContentSums& sums;  ///< what was written; of use where the job verifies
  const TableShuffle::Sums& table_sums;
  const std::vector<FileBeside>& beside;  ///< small files of the output, on process 0
};

/// Writes it into the output's one file or its directory; there also what lies beside the data, with an index last:
/// without it, a directory is no checkpoint. Gives, on process 0, the text of one that goes to a pipe. Collective.
std::string write_manifest(const ManifestParts& parts, TargetFiles& files, JobOutput& output, Communicator& processes);

}  // namespace ckpt
