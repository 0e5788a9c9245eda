#include "output/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

#include "base/log.hpp"
#include "base/text.hpp"
#include "io/kernel_calls.hpp"
#include "io/small_text.hpp"
#include "output/creation_mask.hpp"

namespace ckpt {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t most_description_bytes = 1ULL << 30;
constexpr const char* clear_remedy = "move it away, or choose another output";

/// Throws usage if one name is to be both a file and a folder: DeepSpeed's `latest` beside a tag of that name.
void check_folders(const std::vector<std::string>& names, const fs::path& target) {
  const std::set<std::string> files(names.begin(), names.end());
  for (const std::string& name : names)
    for (fs::path folder = fs::path(name).parent_path(); !folder.empty(); folder = folder.parent_path())
      if (files.contains(folder.string()))
        throw Error(Kind::usage, target.string(),
                    {"\"" + folder.string() + "\" would be a file of it and the folder of " + name, "different names",
                     "rename the folder in the source, or give a target layout with another (--to)"});
}

std::optional<struct stat> look_at(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return found;
}

}  // namespace

Output::Output(const OutputPlace& place)
    : places_(place.path),
      is_single_file_(place.is_single_file),
      force_(place.force),
      fsync_(place.fsync),
      resume_(place.resume) {
  places_.check_lengths({});
}

void Output::check_source(const fs::path& source) const {
  if (is_within(source, places_.target) || is_within(places_.target, source) || is_within(source, places_.partial))
    throw Error(
        Kind::usage, places_.target.string(),
        {"the output would lie in the source " + source.string() + ", or over it", "", "write to another place"});
}

void Output::check_absent() const {
  if (is_there(places_.target) && !force_)
    throw Error(Kind::io, places_.target.string(), {"it exists already", "", "", {Advice::What::replace_output, ""}})
        .in_file(places_.target.string());
}

bool Output::exists_complete() const {
  return resume_ && !force_ && is_there(places_.target);
}

void Output::refuse_complete(const std::string& why) const {
  throw Error(Kind::io, places_.target.string(),
              {"it exists already, and is not what this job writes: " + why,
               "nothing there, or the output of this very job",
               "",
               {Advice::What::replace_output, ""}})
      .in_file(places_.target.string());
}

void Output::remove_left_lock() const {
  if (!is_there(places_.lock)) return;
  try {
    OutputLock::take(places_.lock, places_.partial).release();
  } catch (const Error& error) {  // the output stands all the same: perhaps another job has just found that, too
    log::warn("{} stays: {}", places_.lock.string(), error.what());
  }
}

void Output::check_free() const {
  if (!exists_complete()) check_absent();
  OutputLock::check_free(places_.lock, places_.partial);
  check_unused();
}

void Output::check_unused() const {
  if (is_there(places_.partial) && !force_ && !resume_)
    throw Error(Kind::io, places_.partial.string(),
                {"an earlier run left it", "", "", {Advice::What::resume_or_restart, ""}})
        .in_file(places_.partial.string());
}

void Output::check_sources(const std::vector<fs::path>& files) {
  OverlapCheck overlap(places_);
  for (const fs::path& file : files) {
    overlap.check(file);
    withheld_ |= withheld_bits(file);
  }
}

void Output::check_replaceable(const Layout& target, const std::vector<std::string>& sidecars, Store& store) {
  own_files_.emplace(target, is_single_file_, sidecars, store);
  places_.check_lengths(own_files_->names());
  check_folders(own_files_->names(), places_.target);
  if (force_) own_files_->output(places_.target).check_own(places_.target, clear_remedy);
  if (force_ || resume_) own_files_->partial(places_).check_own(places_.partial, clear_remedy);
}

void Output::claim() {
  lock_.emplace(OutputLock::take(places_.lock, places_.partial));
  check_absent();  // another job may have published there before it released the lock
}

void Output::join(const std::string& token) {
  lock_.emplace(OutputLock::join(places_.lock, places_.partial, token));
}

fs::path Output::journal() const {
  return is_single_file_ ? places_.journal : places_.partial / journal_name;
}

std::optional<std::string> Output::earlier_job() const {
  if (!resume_ || !is_there(places_.partial) || !is_there(journal() / job_name)) return std::nullopt;
  std::string job = small_text(journal() / job_name, most_description_bytes, "the description of a job");
  if (job.empty()) return std::nullopt;  // its host was lost before the text was on the disk
  return job;
}

void Output::begin(const std::string& job, bool go_on) {
  if (go_on) {
    own_files_->partial(places_).check_own(places_.partial, clear_remedy);
    keep_hold();
    begun_ = has_data_ = true;
    return;
  }
  make_new();
  // Gets its name only once it is complete: nobody can resume from half a description.
  const fs::path draft = journal() / job_draft_name;
  const PosixFile file = PosixFile::create(draft);
  file.write(0, std::as_bytes(std::span(job)));
  if (fsync_) file.sync();  // else the name may be on the disk before the text, if the host is lost
  fs::rename(draft, journal() / job_name);
}

void Output::write_text(const std::string& name, const std::string& text) const {
  const PosixFile written = PosixFile::create(file(name));
  written.write(0, std::as_bytes(std::span(text)));
  if (fsync_) written.sync();
}

void Output::make_new() {
  check_unused();  // again, now under the lock
  const ExistingOutput left = own_files_->partial(places_);
  left.check_own(places_.partial, clear_remedy);
  left.remove();
  const auto make_directory = [](const fs::path& path) {
    std::error_code error;
    if (!fs::create_directory(path, error))
      throw system_error(path.string(), "cannot be made", error ? error.value() : EEXIST);
  };
  // A single file's journal comes first: it says whose the file is.
  if (is_single_file_) {
    make_directory(journal());
    begun_ = true;
    PosixFile::create_new(places_.partial);
    keep_hold();
  } else {
    make_directory(places_.partial);
    begun_ = true;
    keep_hold();
    make_directory(journal());
  }
}

/// From here on DST.partial can be distinguished from another file of that name.
void Output::keep_hold() {
  held_ = Fd(retried([&] { return ::open(places_.partial.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); }));
  if (!held_) throw system_error(places_.partial.string(), "cannot be opened", errno);
}

bool Output::is_ours() const {
  struct stat made {};
  if (!held_ || ::fstat(held_.get(), &made) != 0) return false;
  const auto there = look_at(places_.partial);
  return there && there->st_dev == made.st_dev && there->st_ino == made.st_ino && lock_->is_held();
}

void Output::check_ours() const {
  if (!is_ours()) refuse_stranger();
}

void Output::check_held() const {
  if (!lock_->is_held()) refuse_stranger();
}

void Output::refuse_stranger() const {
  throw Error(Kind::io, places_.partial.string(),
              {"it is not what this job made: somebody has removed or replaced it, or its lock", "",
               "nothing is published; find out who, then run the job again"});
}

/// Checks DST again: it may have changed since the start.
void Output::check_target() const {
  if (force_)
    own_files_->output(places_.target).check_own(places_.target, clear_remedy);
  else if (is_there(places_.target))
    refuse_newcomer();
}

void Output::refuse_newcomer() const {
  throw Error(Kind::io, places_.target.string(), {"it appeared while the job ran", "", "choose another output"});
}

fs::path Output::file(const std::string& name) const {
  return is_single_file_ ? places_.partial : places_.partial / name;
}

/// Takes over what others have put beside the output that is replaced. It is there under both names for a moment, so
/// that it is never gone.
void Output::take_over_kept() {
  const ExistingOutput old = own_files_->output(places_.target);
  std::vector<std::string> names;
  for (const fs::path& name : old.kept) {
    std::error_code error;
    const fs::path here = places_.partial / name;
    if (is_there(here)) {  // the new output has its own
      kept_.insert(name);
      continue;
    }
    fs::create_directories(here.parent_path(), error);
    fs::create_hard_link(places_.target / name, here, error);
    if (error) fs::copy_file(places_.target / name, here, error);  // a file system without links
    if (error) throw system_error(here.string(), "cannot be copied from the replaced output", error.value());
    kept_.insert(name);
    names.push_back(name.string());
  }
  if (!names.empty())
    log::info("{} keeps what stood beside the checkpoint: {}", places_.target.string(), ckpt::join(names));
}

void Output::publish() {
  check_ours();
  check_target();
  std::error_code error;
  fs::remove_all(journal(), error);
  if (error) throw system_error(journal().string(), "cannot be removed", error.value());
  if (force_ && !is_single_file_) take_over_kept();
  if (fsync_ && !is_single_file_) {
    for (const auto& entry : fs::recursive_directory_iterator(places_.partial))
      if (entry.is_directory()) sync_directory(entry.path());
    sync_directory(places_.partial);
  }
  const bool has_old = force_ && is_there(places_.target) && replace();
  if (!has_old) take_place();
  begun_ = false;
  if (fsync_) sync_name();
  if (has_old) remove_replaced();
  lock_->release();
}

/// Leaves in place what others have put beside the old output meanwhile: the new output does not contain it.
void Output::leave_newcomers(ExistingOutput& old) const {
  for (const fs::path& name : old.kept)
    if (!kept_.contains(name)) old.foreign.push_back(name.string());
  std::erase_if(old.kept, [&](const fs::path& name) { return !kept_.contains(name); });
}

/// Exchanges the new output with the old one, which is removed only afterwards. Returns false if the file system cannot
/// exchange them: the old one has been removed first then.
bool Output::replace() {
  ExistingOutput old = own_files_->output(places_.target);
  old.check_own(places_.target, clear_remedy);
  check_ours();
  if (kernel::renameat2(AT_FDCWD, places_.partial.c_str(), AT_FDCWD, places_.target.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno == ENOENT) return false;  // it has just disappeared
  if (errno != EINVAL && errno != ENOSYS) refuse_rename(errno);
  leave_newcomers(old);
  old.remove();
  return false;
}

/// Removes the replaced output, which is at DST.partial now. Keeps files that were added since it was inspected.
void Output::remove_replaced() const {
  try {
    ExistingOutput old = own_files_->output(places_.partial);
    leave_newcomers(old);
    old.remove();
    if (!old.foreign.empty())
      log::warn("{} holds what came into the replaced output in its last moment", places_.partial.string());
  } catch (const Error& error) {  // the output is complete: too late to fail
    log::warn("{}: the replaced output could not be removed: {}", places_.partial.string(), error.what());
  }
}

void Output::take_place() {
  check_ours();
  if (kernel::renameat2(AT_FDCWD, places_.partial.c_str(), AT_FDCWD, places_.target.c_str(), RENAME_NOREPLACE) == 0)
    return;
  if ((errno == EINVAL || errno == ENOSYS) && take_place_of_nothing()) return;
  if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) refuse_newcomer();
  refuse_rename(errno);
}

/// Renames on a file system without RENAME_NOREPLACE. A directory can replace nothing but an empty one anyway; a file
/// gets its final name as a second link first, which fails if another file has that name.
bool Output::take_place_of_nothing() {
  if (!is_single_file_) return ::rename(places_.partial.c_str(), places_.target.c_str()) == 0;
  if (::link(places_.partial.c_str(), places_.target.c_str()) == 0) return ::unlink(places_.partial.c_str()) == 0;
  if (errno == EEXIST || is_there(places_.target)) refuse_newcomer();
  return ::rename(places_.partial.c_str(), places_.target.c_str()) == 0;  // without links a moment remains
}

void Output::refuse_rename(int errno_value) const {
  throw system_error(places_.target.string(), "cannot be renamed from " + places_.partial.string(), errno_value);
}

void Output::sync_name() const {
  try {
    sync_directory(places_.target.has_parent_path() ? places_.target.parent_path() : fs::path("."));
  } catch (const Error& error) {  // the output is complete: too late to fail
    log::warn("{} is written, but its name may not be on the disk yet: {}", places_.target.string(), error.what());
  }
}

void Output::fail(Error& error) {
  const bool is_signal = error.kind() == Kind::interrupted || error.kind() == Kind::terminated;
  const bool is_lost = (held_ && !is_ours()) || (lock_ && !lock_->is_held());  // perhaps another job has it now
  if (is_lost) {
    begun_ = false;
  } else if (has_data_ && (is_signal || error.kind() == Kind::io || error.kind() == Kind::peer)) {
    begun_ = false;
    error.advise(places_.partial.string() + " holds what was written so far", {Advice::What::resume_or_restart, ""});
  } else if (is_signal) {
    error.advise("nothing was written");
  }
}

Output::~Output() {
  if (!begun_) return;
  try {
    if (!held_ || is_ours()) own_files_->partial(places_).remove();
  } catch (const std::exception& error) {
    log::warn("{} could not be removed: {}", places_.partial.string(), error.what());
  }
}

}  // namespace ckpt
