#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/found_files.hpp"
#include "checkpoint/reference_json.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a file's name is one that transformers and accelerate give what a trainer keeps beside the model: its
/// optimizer, random numbers, arguments.
bool is_state_of_trainer(const std::string& name);

/// The file of a directory without a layout that is the whole checkpoint by itself: the only one there, or the one with
/// a name that frameworks give whole models (of model.safetensors and pytorch_model.bin the first, as they do), where
/// all such names are one model's. Tells what it passes over. Throws input where a file like it stands for data that is
/// elsewhere (a Git LFS pointer), or the directory names a checkpoint that is not there.
std::optional<std::size_t> whole_file(const FoundFiles& found, SourceStore& store);

/// A model in several files without an index, where their names say that they are all of them ("-00001-of-00002") and
/// no tensor is in two of them: what the index would say.
std::optional<WeightMap> numbered_parts(const FoundFiles& found);

/// The error of files that are missing of those whose names say how many there are.
std::optional<Error> lost_files(const FoundFiles& found);

/// Warns of files of tensors that are in a directory and are not taken, by their names.
void warn_of_passed_over(const std::filesystem::path& directory, const std::vector<std::string>& names,
                         const std::set<std::string>& taken);

/// Looks for such files right in the directory. Skips files that cannot be read.
void warn_of_passed_over(const std::filesystem::path& directory, SourceStore& store,
                         const std::set<std::string>& taken);

/// The error of files that cannot be one checkpoint's: those of several, a directory above them, files that are
/// missing.
std::optional<Error> unlike_one_checkpoint(const FoundFiles& found, SourceStore& store);

/// The error of files that do not say how they are cut: by what they are, the one thing to do. `otherwise`: what is
/// said of files that look like those of all ranks.
Error without_layout(const FoundFiles& found, SourceStore& store, const Error::Text& otherwise);

}  // namespace ckpt
