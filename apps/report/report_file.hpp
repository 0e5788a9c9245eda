#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "jobs/reshard.hpp"
#include "store/posix_file.hpp"

namespace ckpt::cli {

/// The most memory that this process has held, as the system counts it (mapped pages included).
std::uint64_t peak_resident_bytes();

/// --report's JSON: every field of the report, what made it, and the largest peak_resident_bytes of the processes.
std::string report_json(const std::string& program, const ReshardJob& job, const Report& report,
                        std::uint64_t peak_bytes);

/// Where --report goes. Whether it can be written is found out before the job starts, not after hours: a temporary file
/// beside it is made then, renamed at the end, and removed if the job fails. It replaces an older report or nothing
/// else; pipes, terminals and /dev/null are written into.
class ReportFile {
 public:
  ReportFile() = default;
  /// "-": standard output. Throws io where something stands there that is no report, usage where it would lie in the
  /// job's output.
  ReportFile(const std::string& path, const std::filesystem::path& output);
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile();

  /// Throws io.
  void write(const std::string& text);

 private:
  void open_stream();
  void make_draft();
  void check_replaceable() const;

  std::string path_;             ///< as given; empty: no report
  std::filesystem::path real_;   ///< where it leads
  std::filesystem::path draft_;  ///< the file beside it; empty: none
  Fd file_;
};

}  // namespace ckpt::cli
