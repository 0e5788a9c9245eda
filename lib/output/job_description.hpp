#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "output/output.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// What makes a job this job and no other: layouts, parameters, source files with sizes and times, whatever decides
/// over a byte of the output. JSON. `sources`: all that is read, oldest first. `tables`: which rows are kept of them.
std::string describe_job(const std::vector<const Checkpoint*>& sources, const Planner& planner, bool is_single_file,
                         bool is_verified, const std::vector<ManifestTable>& tables);

/// Throws input, naming what has changed, when a description of an earlier job is not this job's.
void check_same_job(const std::string& earlier, const std::string& now, const std::string& partial);

/// Takes the place that was claimed for this job: true where an earlier run of it has left one to go on with, and the
/// user wants that. Throws as check_same_job. On process 0.
bool begin_job(Output& output, bool wants_to_go_on, const std::string& description, bool is_verified);

}  // namespace ckpt
