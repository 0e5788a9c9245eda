#include "output/locked_draft.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/shell_word.hpp"
#include "io/file_lock.hpp"
#include "output/lock_token.hpp"

namespace ckpt {

namespace {

constexpr std::chrono::milliseconds pause{10};

Fd open_draft(const std::filesystem::path& path, int flags) {
  Fd fd = open_named(path, O_RDWR | O_CREAT | flags);
  struct stat made {};
  const bool is_made = fd && ::fstat(fd.get(), &made) == 0;
  if (const int why = errno; !is_made)
    throw system_error(path.string(), "cannot be made", why,
                       why == ENOENT ? "make its directory: mkdir -p " + shell_word(path.parent_path().string())
                                     : "may you write there? move away what has this name");
  if (!S_ISREG(made.st_mode))
    throw Error(Kind::io, path.string(), {"it is no file", "to make one there", "move it away"});
  return fd;
}

}  // namespace

LockedDraft::LockedDraft(const std::filesystem::path& file, const char* ending)
    : file_(file), path_(file.string() + ending) {
  while (!try_lock()) {
    check_interrupt();
    std::this_thread::sleep_for(pause);
  }
}

LockedDraft::~LockedDraft() {
  if (draft_) ::unlink(path_.c_str());
}

bool LockedDraft::try_lock() {
  Fd fd = open_draft(path_, 0);
  switch (ask_lock(fd.get(), F_WRLCK)) {
    case LockAnswer::failed:
      throw system_error(path_.string(), "lock", errno);
    case LockAnswer::refused:
      return false;
    case LockAnswer::no_locks:
      ::unlink(path_.c_str());  // without locks it belongs to no job
      path_ += "." + random_id();
      draft_ = open_draft(path_, O_EXCL);
      return true;
    case LockAnswer::granted:
      break;
  }
  if (!is_named(fd.get(), path_)) return false;  // it has become FILE meanwhile
  draft_ = std::move(fd);
  return true;
}

void LockedDraft::publish(const std::string& text, bool is_lasting) {
  const PosixFile draft = PosixFile::adopt(path_.string(), std::move(draft_));
  try {
    draft.resize(0);
    draft.write(0, std::as_bytes(std::span(text)));
    struct stat old {};
    if (::stat(file_.c_str(), &old) == 0) static_cast<void>(::fchmod(draft.fd(), old.st_mode & 07777));
    if (is_lasting) draft.sync();
    std::error_code error;
    std::filesystem::rename(path_, file_, error);
    if (error) throw system_error(file_.string(), "rename", error.value());
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

}  // namespace ckpt
