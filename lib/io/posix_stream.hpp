#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "io/posix_file.hpp"

namespace ckpt {

/// A sink that takes bytes only in sequence, at its reader's pace: a pipe, a socket, a redirected file.
class PosixStream {
 public:
  /// `fd` stays the caller's, and its mode does not change for others that share it. `name` is for messages.
  PosixStream(std::string name, int fd);

  /// Writes all bytes. While there is no room for them, calls `look` at least five times a second; an exception from it
  /// ends the wait. Throws io if the reader has gone, or the system refuses.
  void write(std::span<const std::byte> bytes, const std::function<void()>& look);
  /// Waits until a regular file is on the storage; for anything else there is nothing to wait for.
  void sync() const;

  const std::string& name() const noexcept { return name_; }
  std::uint64_t written() const noexcept { return written_; }  ///< bytes written so far

 private:
  enum class What { other, socket, file };

  std::string name_;
  Fd own_;  // a second descriptor of the same pipe, for non-blocking calls
  int fd_;
  What what_ = What::other;
  std::uint64_t written_ = 0;
};

}  // namespace ckpt
