#pragma once

#include <filesystem>
#include <string>

#include "store/posix_file.hpp"

namespace ckpt {

/// That an output is one job's: a lock on a file beside it, held by every process of the job that may write. Process 0
/// has the first byte for itself, all share the second; who wants both, as every new job does, finds any process that
/// is left of a job, and none that has ended, however it ended.
///
/// The file tells who its job is, by process 0's token, for messages. On file systems without locks every process adds
/// its token, and these decide: their processes live or not, as far as that can be seen from here. Where each machine
/// has locks of its own (NFS mounted with nolock, Lustre with localflock), a job that is driven out finds another token
/// before it writes.
class OutputLock {
 public:
  /// Takes it for a job's process 0. Throws io, naming `output` and who holds it, where another job does.
  static OutputLock take(const std::filesystem::path& file, const std::filesystem::path& output);
  /// Takes part, as another process of the job with this token. Throws io where this process does not see its file.
  static OutputLock join(const std::filesystem::path& file, const std::filesystem::path& output,
                         const std::string& token);
  /// Throws io, as `take` would, where another job holds it now. Makes and changes nothing.
  static void check_free(const std::filesystem::path& file, const std::filesystem::path& output);

  OutputLock(OutputLock&&) = default;
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;
  OutputLock& operator=(OutputLock&&) = delete;
  ~OutputLock() { release(); }

  const std::string& token() const noexcept { return token_; }
  /// Whether it is still this job's: the file at its path, the token in it, and the system's word.
  bool is_held() const;
  /// Gives it up. The job's last process to do so removes the file.
  void release() noexcept;

 private:
  OutputLock(std::filesystem::path file, Fd fd) : path_(std::move(file)), fd_(std::move(fd)) {}

  bool is_in_place() const noexcept;
  bool has_token_there() const;
  std::string read() const;
  void write(const std::string& token) const;

  std::filesystem::path path_;
  Fd fd_;
  std::string token_;
  bool has_locks_ = true;  // the file system
  bool is_first_ = false;  // this process is the one that has taken it
};

}  // namespace ckpt
