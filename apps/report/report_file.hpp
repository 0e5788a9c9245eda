#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "jobs/reshard.hpp"
#include "report/result_file.hpp"

namespace ckpt::cli {

/// A job that --report tells of.
struct ReportedJob {
  std::string program;
  const ReshardJob& job;
  std::vector<std::string> warnings;  ///< that it has given
};

/// --report's JSON, as apps/report/report.schema.json describes it: every field of the report, what made it, and the
/// largest peak_resident_bytes of the processes.
std::string report_json(const ReportedJob& job, const Report& report, std::uint64_t peak_bytes);

/// What ended a job.
struct Failure {
  Error error;
  std::string message;  ///< the whole, as it is printed
  std::string remedy;   ///< with the advice in words
  int exit_status = 1;
  std::vector<std::string> details;  ///< printed before the message
};

/// --report's JSON of a job that failed.
std::string failure_json(const ReportedJob& job, const Failure& failure);

/// What --report writes.
const ResultKind& report_kind();

}  // namespace ckpt::cli
