#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"

namespace ckpt::cli {

/// A kind of file that an option asks for.
struct ResultKind {
  const char* option;                                ///< "--report"
  const char* noun;                                  ///< "report"
  bool (*is_begun_by)(std::string_view file_start);  ///< whether a file with this beginning is one of ours
};

/// The destination of a result beside the tensors, such as a report. Checks that it can be written before the job
/// starts, not hours later. Writes a draft beside it, FILE.ckpt-new, and renames it; a job that is killed in between
/// leaves the draft, and the next one with the same FILE takes it. Replaces only an older result of its kind; writes
/// directly into pipes, terminals and /dev/null.
class ResultFile {
 public:
  ResultFile() = default;
  /// "-": standard output. `output`: the job's, or empty without one. Throws io if the path exists and is not of this
  /// kind, usage if it would lie in the output. `kind` must outlive it.
  ResultFile(const ResultKind& kind, const std::string& path, const std::filesystem::path& output);
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;
  ~ResultFile() = default;

  /// Writes the first text that it is given, and ignores others. Throws io.
  void write(const std::string& text);

 private:
  std::string object() const { return std::string(kind_->option) + " " + path_; }
  void refuse_within(const std::filesystem::path& output) const;
  void open_stream();
  void check_replaceable() const;
  void check_replaceable(const std::filesystem::path& file, const std::string& found) const;

  const ResultKind* kind_ = nullptr;
  std::string path_;            ///< as given; empty: no result
  std::filesystem::path real_;  ///< with links resolved
  Fd stream_;                   ///< a pipe or an open file; none: a file that is to be replaced
  bool is_written_ = false;
};

}  // namespace ckpt::cli
