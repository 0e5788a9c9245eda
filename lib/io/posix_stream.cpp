#include "io/posix_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"

namespace ckpt {

namespace {

constexpr int patience_ms = 200;
constexpr int pipe_bytes = 1 << 20;  // the most that Linux allows any user: fewer switches between writer and reader

}  // namespace

PosixStream::PosixStream(std::string name, int fd) : name_(std::move(name)), fd_(fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) throw system_error(name_, "write", errno, "is it open?");
  if (S_ISSOCK(found.st_mode)) what_ = What::socket;
  if (S_ISREG(found.st_mode)) what_ = What::file;
  if (!S_ISFIFO(found.st_mode)) return;
  // O_NONBLOCK belongs to the open file description, which other programs may share: so it is opened again.
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  own_ = Fd(retried([&] { return ::open(again.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (own_) fd_ = own_.get();
  ::fcntl(fd_, F_SETPIPE_SZ, pipe_bytes);
}

void PosixStream::write(std::span<const std::byte> bytes, const std::function<void()>& look) {
  while (!bytes.empty()) {
    look();
    const ssize_t count = what_ == What::socket ? ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                                                : ::write(fd_, bytes.data(), bytes.size());
    if (count >= 0) {
      written_ += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd room{fd_, POLLOUT, 0};
      ::poll(&room, 1, patience_ms);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw Error(Kind::io, name_,
                  {"its reader ended when " + format_bytes(written_) + " were written", "one that reads to the end",
                   "see what the reader says"});
    } else if (errno != EINTR) {
      throw system_error(name_, "write", errno);
    }
  }
}

void PosixStream::sync() const {
  if (what_ == What::file && retried([&] { return ::fsync(fd_); }) != 0) throw system_error(name_, "flush", errno);
}

}  // namespace ckpt
