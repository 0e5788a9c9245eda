#include "output/output_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "io/file_lock.hpp"
#include "output/lock_token.hpp"

namespace ckpt {

namespace fs = std::filesystem;

namespace {

constexpr int most_attempts = 100;                 // each fails only if another job has just ended
constexpr std::size_t most_token_bytes = 1 << 20;  // enough for some thousand processes

using Answer = LockAnswer;
using Range = LockedBytes;
constexpr Range first_byte{0, 1};
constexpr Range second_byte{1, 1};
constexpr Range both{0, 2};

std::string text_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size <= 0) return "";
  std::string text(std::min(static_cast<std::size_t>(info.st_size), most_token_bytes), '\0');
  std::size_t read = 0;
  while (read < text.size()) {
    const ssize_t count =
        retried([&] { return ::pread(fd, text.data() + read, text.size() - read, static_cast<off_t>(read)); });
    if (count <= 0) break;
    read += static_cast<std::size_t>(count);
  }
  text.resize(read);
  return text;
}

/// Writes all of a text from `offset` on, or at the end if the file is open for appending. Returns false, with errno,
/// if the system takes less: a full disk may first take a part.
bool put_text(int fd, std::string_view text, off_t offset) {
  while (!text.empty()) {
    const ssize_t count = retried([&] { return ::pwrite(fd, text.data(), text.size(), offset); });
    if (count <= 0) {
      if (count == 0) errno = ENOSPC;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += count;
  }
  return true;
}

/// The job that has the lock may end, or a server give up the lock of a lost host: later another try may succeed.
[[noreturn]] void refuse_alive(const fs::path& output, const std::string& token) {
  const auto is_first_alive = is_alive(token);
  const char* const how = !is_first_alive
                              ? ", and try again: a file server keeps the lock of a lost host for some minutes"
                          : *is_first_alive ? ", and try again"
                                            : ", and try again: that process has, but others of the job have not";
  throw Error(Kind::io, output.string(),
              {"another job is writing it (" + holder_in(token) + ")", "",
               std::string("wait until it has ended") + how + "; or choose another output"})
      .passing();
}

/// Returns if the token's process is known to have ended; else throws io. For file systems without locks.
void judge_by_token(const std::string& token, const fs::path& file, const fs::path& output) {
  const auto alive = is_alive(token);
  if (!alive)
    throw Error(Kind::io, output.string(),
                {"another job may be writing it (" + holder_in(token) +
                     "), which cannot be told from here: this file system has no locks",
                 "", "wait until it has ended, and try again; if no job does, remove " + file.string()})
        .passing();
  if (*alive) refuse_alive(output, token);
}

/// Throws io unless the file is empty or a lock: no other file is ever overwritten.
void check_is_lock(int fd, const fs::path& file) {
  struct stat info {};
  const bool is_known = ::fstat(fd, &info) == 0;
  if (is_known && S_ISREG(info.st_mode) && (info.st_size == 0 || is_token(text_of(fd)))) return;
  throw Error(Kind::io, file.string(), {"it is no lock of these programs", "to make one there", "move it away"});
}

/// Removes the file that a dead job left, but no other: between inspection and removal another job may have replaced it
/// by its own.
void remove_stale(const fs::path& file, const std::string& dead) {
  const fs::path aside = file.string() + "." + random_id();
  if (::rename(file.c_str(), aside.c_str()) != 0) return;  // another job was faster
  const Fd fd = open_named(aside, O_RDONLY);
  if (fd && text_of(fd.get()) != dead) static_cast<void>(::link(aside.c_str(), file.c_str()));
  ::unlink(aside.c_str());
}

/// A job that was killed, or lost with its host, could not say so itself.
void tell_of_lost(const fs::path& output, const std::string& token) {
  if (is_token(token))
    log::info("{}: the job that wrote it was killed, or lost with its host ({})", output.string(), holder_in(token));
}

}  // namespace

bool OutputLock::is_in_place() const noexcept {
  return is_named(fd_.get(), path_);
}

/// Opens the file again: only then does a network file system show what another machine has written.
bool OutputLock::has_token_there() const {
  const Fd there = open_named(path_, O_RDONLY);
  if (!there && errno != ENOENT && errno != ELOOP)  // rely on the open file
    return text_of(fd_.get()).starts_with(token_) && is_in_place();
  return there && text_of(there.get()).starts_with(token_) && is_in_place();
}

std::string OutputLock::read() const {
  return text_of(fd_.get());
}

/// Writes the token, or removes the file: without a token it would say nothing.
void OutputLock::write(const std::string& token) const {
  if (retried([&] { return ::ftruncate(fd_.get(), 0); }) == 0 && put_text(fd_.get(), token, 0)) return;
  const int error = errno;
  ::unlink(path_.c_str());
  throw system_error(path_.string(), "write", error, "free some space or write elsewhere");
}

OutputLock OutputLock::take(const fs::path& file, const fs::path& output) {
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    Fd fd = open_named(file, O_RDWR | O_CREAT | O_EXCL);
    const bool is_new = bool(fd);
    if (!fd && errno == EEXIST) {
      fd = open_named(file, O_RDWR);
      if (!fd && errno == ENOENT) continue;  // it has just disappeared
    }
    if (!fd)
      throw system_error(output.string(), "cannot be made", errno,
                         "does " + parent.string() + " exist, and may you write there?");
    OutputLock lock(file, std::move(fd));
    check_is_lock(lock.fd_.get(), file);
    const Answer answer = ask_lock(lock.fd_.get(), F_WRLCK, both);
    if (answer == Answer::failed) throw system_error(file.string(), "lock", errno);
    if (answer == Answer::refused) refuse_alive(output, lock.read());
    lock.has_locks_ = answer == Answer::granted;
    if (!lock.has_locks_ && !is_new) {
      const std::string token = lock.read();
      judge_by_token(token, file, output);
      tell_of_lost(output, token);
      remove_stale(file, token);
      continue;
    }
    if (!lock.is_in_place()) continue;  // its last holder has removed it meanwhile, and a lock on it excludes nobody
    if (!is_new) tell_of_lost(output, lock.read());
    lock.is_first_ = true;
    lock.write(lock.token_ = new_token());
    if (lock.has_locks_) ask_lock(lock.fd_.get(), F_RDLCK, second_byte);  // the job's other processes share it
    return lock;
  }
  throw Error(Kind::io, output.string(), {"its lock could not be taken: other jobs come and go", "", "try again"})
      .passing();
}

OutputLock OutputLock::join(const fs::path& file, const fs::path& output, const std::string& token) {
  // Opening the directory makes NFS check again whether a name exists that did not a moment ago.
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const Fd directory(retried([&] { return ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  Fd fd = open_named(file, O_RDWR | O_APPEND);
  if (!fd && errno != ENOENT && errno != ENOTDIR && errno != ESTALE)
    throw system_error(file.string(), "cannot be opened", errno, "do all processes run as one user?");
  OutputLock lock(file, std::move(fd));
  if (!lock.fd_ || !lock.read().starts_with(token))
    throw Error(Kind::io, output.string(),
                {"this process does not see what process 0 has made there", "a place that all processes share",
                 "write to a shared file system"});
  const Answer answer = ask_lock(lock.fd_.get(), F_RDLCK, second_byte);
  if (answer == Answer::failed) throw system_error(file.string(), "lock", errno);
  if (answer == Answer::refused) refuse_alive(output, token);
  lock.has_locks_ = answer == Answer::granted;
  lock.token_ = token;
  const std::string mine = new_token();
  if (!lock.has_locks_ && !put_text(lock.fd_.get(), mine, 0))  // opened with O_APPEND: after those of the others
    throw system_error(file.string(), "write", errno, "free some space or write elsewhere");
  return lock;
}

void OutputLock::check_free(const fs::path& file, const fs::path& output) {
  const Fd fd = open_named(file, O_RDONLY);
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return;
  if (!fd) throw system_error(file.string(), "cannot be opened", errno);
  check_is_lock(fd.get(), file);
  const Answer answer = would_lock(fd.get(), both);
  if (answer == Answer::granted) return;
  if (answer == Answer::refused) refuse_alive(output, text_of(fd.get()));
  judge_by_token(text_of(fd.get()), file, output);
}

bool OutputLock::is_held() const {
  if (!fd_ || !has_token_there()) return false;
  // Asks for the lock again: a server that has lost its client's locks may have given them to another.
  return !has_locks_ ||
         ask_lock(fd_.get(), is_first_ ? F_WRLCK : F_RDLCK, is_first_ ? first_byte : second_byte) == Answer::granted;
}

void OutputLock::release() noexcept {
  if (token_.empty()) return fd_.reset();  // it never belonged to this job
  bool is_last = is_first_;
  if (has_locks_) {
    ask_lock(fd_.get(), F_UNLCK, both);
    is_last = ask_lock(fd_.get(), F_WRLCK, both) == Answer::granted;
  }
  if (is_last && has_token_there()) ::unlink(path_.c_str());
  if (has_locks_) ask_lock(fd_.get(), F_UNLCK, both);  // a child process may still have the same open file
  token_.clear();
  fd_.reset();
}

}  // namespace ckpt
