#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether directories are one rank's each, by their names in natural order: rank_0/, mp_rank_00/, host_0/. Plain
/// numbers are where they begin with 0, as steps do not.
bool are_of_ranks(const std::vector<std::string>& directories);

/// The error of a directory in which a file that names a run's last checkpoint (DeepSpeed's `latest`, Megatron's,
/// TensorFlow's) names one that is not there.
std::optional<Error> stale_pointer(const std::filesystem::path& directory, SourceStore& store);

/// The directories below one that are checkpoints by themselves, in natural order, as paths relative to it: those of
/// these programs, of frameworks (also of such as are not read), those with an index or with files of tensors.
std::vector<std::string> checkpoints_below(const std::filesystem::path& directory, SourceStore& store);

/// The error of a directory that is above checkpoints, to be given one of them.
Error above_checkpoints(const std::filesystem::path& directory, const std::vector<std::string>& below);

/// The error of a directory below which no file of tensors is: what it is instead, as far as that can be told.
Error no_tensors(const std::filesystem::path& directory, SourceStore& store, const std::string& known_formats);

}  // namespace ckpt
