#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "jobs/types/reshard_job.hpp"
#include "report/result_file.hpp"

namespace ckpt::cli {

/// A job for --report.
struct ReportedJob {
  std::string program;
  const ReshardJob& job;
  std::vector<std::string> warnings;  ///< that it printed
};

/// --report's JSON, as apps/report/report.schema.json describes it: the report's fields, the program and the job that
/// made it, and the largest peak_resident_bytes of the processes.
std::string report_json(const ReportedJob& job, const Report& report, std::uint64_t peak_bytes);

/// The error that ended a job.
struct Failure {
  Error error;
  std::string message;  ///< the whole message, as printed
  std::string remedy;   ///< with the advice in words
  int exit_status = 1;
  std::vector<std::string> details;  ///< printed before the message
};

/// --report's JSON for a job that failed.
std::string failure_json(const ReportedJob& job, const Failure& failure);

/// The kind of file that --report writes.
const ResultKind& report_kind();

}  // namespace ckpt::cli
