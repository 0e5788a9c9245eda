#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "store/posix_file.hpp"

namespace ckpt {

/// What takes bytes only one after the other, at the pace of whoever reads them: a pipe, a socket, a redirected file.
class PosixStream {
 public:
  /// `fd` stays the caller's, and how it works for others that share it is not changed. `name`: for messages.
  PosixStream(std::string name, int fd);

  /// Writes all bytes. While there is no room for them it calls `look` again and again, at least five times a second;
  /// what that throws ends the waiting. Throws io where the reader has gone, or the system refuses.
  void write(std::span<const std::byte> bytes, const std::function<void()>& look);
  /// Waits until a regular file is on the storage; of anything else there is nothing to wait for.
  void sync() const;

  const std::string& name() const noexcept { return name_; }
  std::uint64_t written() const noexcept { return written_; }  ///< bytes

 private:
  enum class What { other, socket, file };

  std::string name_;
  Fd own_;  // the same pipe once more, for calls that do not wait
  int fd_;
  What what_ = What::other;
  std::uint64_t written_ = 0;
};

}  // namespace ckpt
