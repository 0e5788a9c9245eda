#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "output/output.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// Identifies a job, as JSON: layouts, parameters, source files with sizes and times, and whatever else determines a
/// byte of the output. `sources`: everything that is read, oldest first. `tables`: which of their rows are kept. `map`,
/// `averaged`: as in ManifestHistory. `is_placed_as_source`: arrays lie where they can share blocks with the source's.
std::string describe_job(const std::vector<const Checkpoint*>& sources, const Planner& planner, bool is_single_file,
                         bool is_verified, const std::vector<ManifestTable>& tables, const std::string& map = {},
                         const std::string& averaged = {}, bool is_placed_as_source = false);

/// Throws input, naming what has changed, if an earlier job's description differs from this job's.
void check_same_job(const std::string& earlier, const std::string& now, const std::string& partial);

/// Takes the place that was claimed for this job. Returns true if an earlier run of it left something to resume and the
/// user wants that. Throws as check_same_job. On process 0.
bool begin_job(Output& output, bool wants_to_go_on, const std::string& description, bool is_verified);

}  // namespace ckpt
