#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/block_clones.hpp"
#include "io/direct_writer.hpp"
#include "output/existing_output.hpp"
#include "output/output_lock.hpp"
#include "output/places.hpp"

namespace ckpt {

/// The place that a job writes to.
struct OutputPlace {
  std::filesystem::path path;  ///< a directory, or a file
  bool is_single_file = false;
  bool force = false;   ///< replace what is there
  bool resume = false;  ///< continue what an earlier run left
  bool fsync = true;    ///< wait until it is on the disk
  DirectIo direct_io = DirectIo::automatic;
  Reflink reflink = Reflink::automatic;
  bool is_pipe = false;  ///< the single file goes to `descriptor`; `path` is only its name for users
  int descriptor = -1;   ///< of the pipe, on process 0

  std::string name() const { return is_pipe && path == "-" ? "standard output" : path.string(); }
};

/// The place that a job writes to, and its publication as the output: everything is made under `DST.partial` and
/// renamed at the end, so that DST is either complete or absent. Process 0 makes and publishes it for all, under a lock
/// that every process holds while it may write: a job never touches another job's files, and publishes only its own.
class Output {
 public:
  /// Throws usage for a path that cannot be an output, io if its name is too long. This and all methods up to `claim`
  /// touch nothing.
  explicit Output(const OutputPlace& place);
  ~Output();  ///< removes what was begun and not published, unless `fail` kept it
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  /// Throws usage if the source and the output lie in one another.
  void check_source(const std::filesystem::path& source) const;
  /// Throws usage if one of these files is among those that would be overwritten, wherever links lead.
  void check_sources(const std::vector<std::filesystem::path>& files);
  /// The permissions of group and others that at least one of these files withholds (withheld_bits).
  mode_t withheld() const noexcept { return withheld_; }
  /// Whether the output is there already, and a job that resumes may find that it is its own.
  bool exists_complete() const;
  /// Removes the lock that a job has left which was killed after it had published the complete output.
  void remove_left_lock() const;
  /// Throws io: what is there is not what the job writes.
  [[noreturn]] void refuse_complete(const std::string& why) const;
  /// Throws io if the output (unless it may be replaced, or `exists_complete`), an earlier run's .partial (unless it
  /// may be replaced or continued) or another job is in the way.
  void check_free() const;
  /// Once the output's files are known: throws io if these programs did not write what would be replaced, or if a name
  /// is too long. `sidecars`: the names of the files beside the layout's.
  void check_replaceable(const Layout& target, const std::vector<std::string>& sidecars, Store& store);

  /// Takes the lock; from here on no other job touches the place. On process 0, after `check_replaceable`.
  void claim();
  /// Identifies the job that holds the lock, for `join`.
  const std::string& token() const { return lock_->token(); }
  /// Takes the other processes' part in the lock; `leave` gives it up when they write no more.
  void join(const std::string& token);
  void leave() noexcept { lock_->release(); }

  /// The description that an earlier run left in DST.partial; nothing if there is none to resume from.
  std::optional<std::string> earlier_job() const;
  /// Makes DST.partial (an empty directory, unless the output is a single file) with a journal that begins with a
  /// description of the job; with `go_on`, continues with what is there.
  void begin(const std::string& job, bool go_on);
  std::filesystem::path journal() const;
  /// Writes a text file beside the files of an unfinished directory: the manifest, an index.
  void write_text(const std::string& name, const std::string& text) const;
  /// From here on it contains data, from which another run can resume.
  void fill() noexcept { has_data_ = true; }
  /// Handles the failure of a run: keeps data with which another run with the same inputs may do better, and adds to
  /// the error how to resume. Every process may call it; the process that made files removes them.
  void fail(Error& error);
  /// Publishes the output: flushed, renamed, the parent directory flushed. Throws io, and publishes nothing, if the
  /// files there are not those that this job made, if an output has appeared meanwhile, or, where one may be replaced,
  /// something that is not an output.
  void publish();

  /// Throws io if the place belongs to another job now. Called wherever a file is opened by name: a file that is open
  /// already remains this job's, whatever happens to the name.
  void check_held() const;
  /// The path of one of the output's files until publication.
  std::filesystem::path file(const std::string& name) const;
  const std::filesystem::path& partial() const noexcept { return places_.partial; }

 private:
  void check_absent() const;
  void check_unused() const;
  void make_new();
  void keep_hold();
  bool is_ours() const;
  void check_ours() const;
  void check_target() const;
  void take_over_kept();
  void leave_newcomers(ExistingOutput& old) const;
  bool replace();
  void remove_replaced() const;
  void take_place();
  bool take_place_of_nothing();
  [[noreturn]] void refuse_newcomer() const;
  [[noreturn]] void refuse_stranger() const;
  [[noreturn]] void refuse_rename(int errno_value) const;
  void sync_name() const;

  OutputPlaces places_;
  bool is_single_file_;
  mode_t withheld_ = 0;
  bool force_;
  bool fsync_;
  bool resume_;
  bool begun_ = false;
  bool has_data_ = false;
  std::optional<OwnFiles> own_files_;
  std::set<std::filesystem::path> kept_;  ///< names of others' files that the output took over
  std::optional<OutputLock> lock_;
  Fd held_;  // DST.partial as this job made it: while it is open, no other file gets its inode number
};

}  // namespace ckpt
