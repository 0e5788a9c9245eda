#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "store/posix_file.hpp"

namespace ckpt::cli {

/// A kind of file that an option asks for.
struct ResultKind {
  const char* option;                                ///< "--report"
  const char* noun;                                  ///< "report"
  bool (*is_begun_by)(std::string_view file_start);  ///< whether a file that begins so is one of ours
};

/// Where a result beside the tensors goes, such as a report. Whether it can be written is found out before the job
/// starts, not after hours: a temporary file beside it is made then, and renamed when the result is written into it. It
/// replaces an older result of its kind and nothing else; pipes, terminals and /dev/null are written into.
class ResultFile {
 public:
  ResultFile() = default;
  /// "-": standard output. `output` is the job's; empty: it has none. Throws io where something stands there that is
  /// not of this kind, usage where it would lie in the output. `kind` must outlive it.
  ResultFile(const ResultKind& kind, const std::string& path, const std::filesystem::path& output);
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;
  ~ResultFile();

  /// Takes the first text that it is given. Throws io.
  void write(const std::string& text);

 private:
  std::string object() const { return std::string(kind_->option) + " " + path_; }
  void refuse_within(const std::filesystem::path& output) const;
  void open_stream();
  void make_draft();
  void check_replaceable() const;

  const ResultKind* kind_ = nullptr;
  std::string path_;             ///< as given; empty: no result
  std::filesystem::path real_;   ///< where it leads
  std::filesystem::path draft_;  ///< the file beside it; empty: none
  Fd file_;
  bool is_written_ = false;
};

}  // namespace ckpt::cli
