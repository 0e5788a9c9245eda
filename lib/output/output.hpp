#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "output/output_lock.hpp"
#include "output/places.hpp"
#include "output/standing.hpp"

namespace ckpt {

/// Where a job writes.
struct OutputPlace {
  std::filesystem::path path;  ///< a directory, or a file
  bool is_single_file = false;
  bool force = false;    ///< replace what is there
  bool resume = false;   ///< go on with what an earlier run left
  bool fsync = true;     ///< wait until it is on the disk
  bool is_pipe = false;  ///< the single file goes to `descriptor`; `path` is only what users call it
  int descriptor = -1;   ///< of it, on process 0

  std::string name() const { return is_pipe && path == "-" ? "standard output" : path.string(); }
};

/// The place that a job writes to and the moment when it becomes the output: all is made under `DST.partial` and
/// renamed at the end, so that there is a whole DST or none. Process 0 makes and ends it for all, under a lock that
/// every process holds while it may write: nothing of another job's is touched, and nothing but this job's published.
class Output {
 public:
  /// Throws usage for a path that can be no output, io where its name is too long. Touches nothing, as all that follows
  /// up to `claim`.
  explicit Output(const OutputPlace& place);
  ~Output();  ///< what was begun and not published is removed, unless `fail` kept it
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  /// Throws usage when the source and the output lie in one another.
  void check_source(const std::filesystem::path& source) const;
  /// Throws usage when one of these files is among what would be written over, wherever links lead.
  void check_sources(const std::vector<std::filesystem::path>& files);
  /// The permissions of group and others that not all of these files grant (withheld_bits).
  mode_t withheld() const noexcept { return withheld_; }
  /// Throws io when the output (unless it may be replaced), an earlier run's .partial (unless it may be replaced or
  /// gone on with) or another job is in the way.
  void check_free() const;
  /// Now that it is known what is to be written: throws io when what would be replaced is not these programs', or a
  /// name is too long. `beside`: the names of what is to lie beside the layout's files.
  void plan(const Layout& target, const std::vector<std::string>& beside, Store& store);

  /// Takes the lock; from here on no other job touches the place. On process 0, after `plan`.
  void claim();
  /// Which job holds the lock, for `join`.
  const std::string& token() const { return lock_->token(); }
  /// The other processes' part in it, which ends with `leave`, when they write no more.
  void join(const std::string& token);
  void leave() noexcept { lock_->release(); }

  /// What an earlier run wrote down of its job when it left DST.partial; nothing where there is none to go on with.
  std::optional<std::string> earlier_job() const;
  /// Makes DST.partial (an empty directory, unless the output is a single file) with a journal that begins with a
  /// description of the job, or goes on with what is there.
  void begin(const std::string& job, bool go_on);
  std::filesystem::path journal() const;
  /// Puts a text beside the files of a directory that is being written: the manifest, an index.
  void write_text(const std::string& name, const std::string& text) const;
  /// From here on there is data in it, which a failed run can go on with.
  void fill() noexcept { has_data_ = true; }
  /// The run fails with this error: data stays where another run with the same inputs may do better, and the error says
  /// how to go on. Every process may call it; what was made is removed by the one that made it.
  void fail(Error& error);
  /// Makes it the output: flushed, renamed, the parent directory flushed. Throws io, and publishes nothing, when what
  /// lies there is not what this job made, when an output has appeared meanwhile, or, where one may be replaced,
  /// something that is none.
  void publish();

  /// Throws io when the place has become another job's. Asked wherever a file is opened by its name: what has been
  /// opened before is this job's whatever happens to the name.
  void check_held() const;
  /// Where a file of the output lies until then.
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
  std::optional<Inspection> inspection_;
  std::optional<OutputLock> lock_;
  Fd held_;  // DST.partial as this job made it: as long as it is open, no other file gets its number
};

}  // namespace ckpt
