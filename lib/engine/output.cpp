#include "engine/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace fs = std::filesystem;

namespace {

constexpr const char* journal_name = ".journal";
constexpr const char* job_name = "job";

/// "a/b/" → "a/b": the name that gets ".partial" behind it.
fs::path without_slash(fs::path path) {
  while (!path.has_filename() && path.has_parent_path() && path != path.parent_path()) path = path.parent_path();
  return path;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (error && status.type() == fs::file_type::none)
    throw system_error(path.string(), "cannot be looked at", error.value());
  return fs::exists(status);
}

/// Where a path leads, as far as it exists.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  if (error) throw system_error(path.string(), "cannot be looked at", error.value());
  return real;
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path a = resolved(inner);
  const fs::path b = resolved(outer);
  const auto [end, rest] = std::mismatch(b.begin(), b.end(), a.begin(), a.end());
  return end == b.end();
}

}  // namespace

void sync_directory(const fs::path& directory) {
  const Fd fd(retried([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) throw system_error(directory.string(), "cannot be opened", errno);
  if (retried([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL && errno != ENOTSUP)
    throw system_error(directory.string(), "cannot be flushed", errno);
}

Output::Output(const Job& job)
    : target_(without_slash(job.output)),
      is_single_file_(job.target.single_file),
      force_(job.force),
      fsync_(job.fsync),
      resume_(job.resume) {
  partial_ = target_;
  partial_ += ".partial";
  if (is_within(job.source, target_) || is_within(target_, job.source) || is_within(job.source, partial_))
    throw Error(
        Kind::usage, target_.string(),
        {"the output would lie in the source " + job.source.string() + ", or over it", "", "write to another place"});
  if (is_there(target_) && !force_)
    throw Error(Kind::io, target_.string(),
                {"it exists already", "", "choose another output, or replace it with --force"});
  if (is_there(partial_) && !force_ && !resume_)
    throw Error(Kind::io, partial_.string(),
                {"an earlier run left it", "", "go on with --resume, or start anew with --force"});
}

fs::path Output::journal() const {
  if (!is_single_file_) return partial_ / journal_name;
  fs::path beside = partial_;
  return beside += journal_name;
}

std::optional<std::string> Output::earlier_job() const {
  if (!resume_ || !is_there(partial_) || !is_there(journal() / job_name)) return std::nullopt;
  const PosixFile file = PosixFile::open_for_reading(journal() / job_name);
  std::string text(checked_narrow<std::size_t>(file.status().bytes), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void Output::begin(const std::optional<std::string>& job, bool go_on) {
  if (!go_on) make_new();
  begun_ = true;
  has_data_ = go_on;
  if (!job || go_on) return;
  std::error_code error;
  if (!fs::create_directory(journal(), error))
    throw system_error(journal().string(), "cannot be made", error ? error.value() : EEXIST);
  // Under its name only when it is whole: there is no half a description to go on with.
  const fs::path draft = journal() / "job.new";
  const PosixFile file = PosixFile::create(draft);
  file.write(0, std::as_bytes(std::span(*job)));
  fs::rename(draft, journal() / job_name);
}

void Output::make_new() {
  fs::path parent = target_.parent_path();
  if (parent.empty()) parent = ".";
  std::error_code error;
  if (force_ || resume_) fs::remove_all(partial_, error);
  if (!error) fs::remove_all(journal(), error);  // of a single file that somebody has removed
  if (error) throw system_error(partial_.string(), "cannot be removed", error.value());
  if (is_single_file_) {
    PosixFile::create_new(partial_);
  } else if (!fs::create_directory(partial_, error)) {
    throw system_error(partial_.string(), "cannot be made", error ? error.value() : EEXIST,
                       "does " + parent.string() + " exist, and may you write there?");
  }
}

fs::path Output::file(const std::string& name) const {
  return is_single_file_ ? partial_ : partial_ / name;
}

void Output::publish() {
  std::error_code error;
  fs::remove_all(journal(), error);
  if (error) throw system_error(journal().string(), "cannot be removed", error.value());
  if (fsync_ && !is_single_file_) {
    for (const auto& entry : fs::recursive_directory_iterator(partial_))
      if (entry.is_directory()) sync_directory(entry.path());
    sync_directory(partial_);
  }
  const bool has_old = force_ && is_there(target_) && replace();
  if (!has_old) take_place();
  begun_ = false;
  if (fsync_) sync_name();
  if (!has_old) return;
  fs::remove_all(partial_, error);  // the old one, by now
  if (error) spdlog::warn("{}: the replaced output could not be removed: {}", partial_.string(), error.message());
}

/// --force: the old output goes only when the new one stands in its place. False where the file system cannot exchange
/// them: then the old one has had to go first.
bool Output::replace() {
  if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) refuse_rename(errno);
  std::error_code error;
  fs::remove_all(target_, error);
  if (error) throw system_error(target_.string(), "cannot be removed", error.value());
  return false;
}

void Output::take_place() {
  if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST)
    throw Error(Kind::io, target_.string(), {"it appeared while the job ran", "", "choose another output"});
  const bool can_refuse = errno != EINVAL && errno != ENOSYS;
  if (can_refuse || ::rename(partial_.c_str(), target_.c_str()) != 0) refuse_rename(errno);
}

void Output::refuse_rename(int errno_value) const {
  throw system_error(target_.string(), "cannot be renamed from " + partial_.string(), errno_value);
}

void Output::sync_name() const {
  try {
    sync_directory(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
  } catch (const Error& error) {  // the output stands: too late to fail
    spdlog::warn("{} is written, but its name may not be on the disk yet: {}", target_.string(), error.what());
  }
}

void Output::fail(Error& error) {
  const bool is_signal = error.kind() == Kind::interrupted || error.kind() == Kind::terminated;
  if (has_data_ && (is_signal || error.kind() == Kind::io || error.kind() == Kind::peer)) {
    begun_ = false;
    error.advise(partial_.string() + " holds what was written so far: go on with --resume, or start anew with --force");
  } else if (is_signal) {
    error.advise("nothing was written");
  }
}

Output::~Output() {
  if (!begun_) return;
  std::error_code error;
  fs::remove_all(partial_, error);
  fs::remove_all(journal(), error);
}

}  // namespace ckpt
