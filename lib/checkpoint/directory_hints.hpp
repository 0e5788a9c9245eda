#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Everything in a directory, in natural order of the names; nothing if it cannot be read.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& directory);

/// The error of a directory in which a file that names a run's last checkpoint (DeepSpeed's `latest`, Megatron's,
/// TensorFlow's) is empty, or names one that is not there.
std::optional<Error> stale_pointer(const std::filesystem::path& directory, SourceStore& store);

/// Whether each of a directory's own directories is one rank's: rank_0/, mp_rank_00/, host_0/, or 0/, 1/ without a gap,
/// as steps never are. Those that say what they hold (a manifest, a framework's metadata, an index) are checkpoints of
/// their own.
bool are_of_ranks(const std::filesystem::path& directory, const std::vector<std::string>& names);

/// Whether a folder is called as trainers call their steps' ("checkpoint-500", "iter_0000010").
bool is_of_step(const std::string& name);

/// The directories below one that are checkpoints by themselves, in natural order, as paths relative to it: those of
/// these programs, of frameworks (also of such as are not read), those with an index or with files of tensors, and of
/// directories of ranks the one above them.
std::vector<std::string> checkpoints_below(const std::filesystem::path& directory, SourceStore& store);

/// A file, or a directory, that nobody asked for.
struct PassedOver {
  std::string name;
  std::string what;  ///< a word for anything but a file of tensors: another checkpoint, a file whose data is lost
};

/// The files of tensors right in a directory and in its own folders, as paths relative to it in natural order, without
/// those in `taken`. A framework's own directory stands for its files. Looks only at files with the endings of known
/// formats or of `endings`. Skips folders of which something is taken, and those of a run's other steps.
std::vector<PassedOver> files_passed_over(const std::filesystem::path& directory, const std::set<std::string>& taken,
                                          const std::set<std::string>& endings, SourceStore& store);

/// The error of a directory that is above checkpoints, to be given one of them.
Error parent_directory_error(const std::filesystem::path& directory, const std::vector<std::string>& below);

/// The error of a path that does not exist; names the system whose files begin with it, if there are such files.
Error not_found_error(const std::filesystem::path& path, const std::string& expected);

/// The error of a directory below which no file of tensors is: what it is instead, as far as that can be told.
Error no_tensors_error(const std::filesystem::path& directory, SourceStore& store, const std::string& known_formats);

}  // namespace ckpt
