#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "engine/job.hpp"

namespace ckpt {

/// The place that a job writes to and the moment when it becomes the output: all is made under `DST.partial` and
/// renamed at the end, so that there is a whole DST or none. Made and ended by one process for all.
class Output {
 public:
  /// Throws io when the output or an earlier run's .partial is in the way (unless job.force), usage when source and
  /// output are one place. Touches nothing.
  explicit Output(const Job& job);
  ~Output();  ///< what was begun and not published is removed, unless `fail` kept it
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  /// Makes DST.partial (an empty directory, unless the output is a single file).
  void begin();
  /// From here on there is data in it, which a failed run can go on with.
  void fill() noexcept { has_data_ = true; }
  /// The run fails with this error: data stays where another run with the same inputs may do better, and the error says
  /// how to go on. Every process may call it; what was made is removed by the one that made it.
  void fail(Error& error);
  /// Makes it the output: flushed, renamed, the parent directory flushed. Without job.force an output that has appeared
  /// meanwhile is left alone, and io thrown.
  void publish();

  /// Where a file of the output lies until then.
  std::filesystem::path file(const std::string& name) const;
  const std::filesystem::path& partial() const noexcept { return partial_; }

 private:
  bool replace();
  void take_place();
  [[noreturn]] void refuse_rename(int errno_value) const;
  void sync_name() const;

  std::filesystem::path target_;
  std::filesystem::path partial_;
  bool is_single_file_;
  bool force_;
  bool fsync_;
  bool begun_ = false;
  bool has_data_ = false;
};

/// Waits until a directory's entries are on the disk.
void sync_directory(const std::filesystem::path& directory);

}  // namespace ckpt
