#pragma once

#include <filesystem>
#include <string>

#include "io/posix_file.hpp"

namespace ckpt {

/// Gives an output to one job: a lock on a file beside it, held by every process of the job that may write. Process 0
/// alone locks the first byte, and all share the second. A new job asks for both: so it detects any remaining process
/// of a job, and none that has ended, however it ended.
///
/// The file identifies its job by process 0's token, for messages. On file systems without locks every process adds its
/// token, and these decide: whether their processes live, as far as this machine can tell. If each machine has its own
/// locks (NFS mounted with nolock, Lustre with localflock), a job that another one displaced finds the other's token
/// before it writes.
class OutputLock {
 public:
  /// Takes the lock for a job's process 0. Throws io, naming `output` and the holder, if another job has it; the error
  /// may pass (`Error::may_pass`), also where that job's host cannot be asked whether it lives.
  static OutputLock take(const std::filesystem::path& file, const std::filesystem::path& output);
  /// Joins as another process of the job with this token. Throws io if this process does not see the job's file.
  static OutputLock join(const std::filesystem::path& file, const std::filesystem::path& output,
                         const std::string& token);
  /// Throws io, as `take` would, if another job holds the lock now. Makes and changes nothing.
  static void check_free(const std::filesystem::path& file, const std::filesystem::path& output);

  OutputLock(OutputLock&&) = default;
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;
  OutputLock& operator=(OutputLock&&) = delete;
  ~OutputLock() { release(); }

  const std::string& token() const noexcept { return token_; }
  /// Whether the lock is still this job's: the file at its path, the token in it, and the system's answer.
  bool is_held() const;
  /// Releases the lock. The job's last process to do so removes the file.
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
  bool has_locks_ = true;  // the file system has locks
  bool is_first_ = false;  // this process took it
};

}  // namespace ckpt
