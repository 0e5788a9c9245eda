#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "jobs/reshard.hpp"
#include "store/posix_file.hpp"

namespace ckpt::cli {

/// The most memory that this process has held, as the system counts it (mapped pages included).
std::uint64_t peak_resident_bytes();

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
};

/// --report's JSON of a job that failed.
std::string failure_json(const ReportedJob& job, const Failure& failure);

/// Where --report goes. Whether it can be written is found out before the job starts, not after hours: a temporary file
/// beside it is made then, and renamed when the report is written into it. It replaces an older report or nothing else;
/// pipes, terminals and /dev/null are written into.
class ReportFile {
 public:
  ReportFile() = default;
  /// "-": standard output. Throws io where something stands there that is no report, usage where it would lie in the
  /// job's output (which may be empty).
  ReportFile(const std::string& path, const std::filesystem::path& output);
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile();

  /// Takes the first text that it is given. Throws io.
  void write(const std::string& text);

 private:
  void open_stream();
  void make_draft();
  void check_replaceable() const;

  std::string path_;             ///< as given; empty: no report
  std::filesystem::path real_;   ///< where it leads
  std::filesystem::path draft_;  ///< the file beside it; empty: none
  Fd file_;
  bool is_written_ = false;
};

}  // namespace ckpt::cli
