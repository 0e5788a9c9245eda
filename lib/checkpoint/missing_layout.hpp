#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/found_files.hpp"
#include "checkpoint/reference_json.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether transformers or accelerate give a file of a trainer this name: one of its optimizer, random numbers or
/// arguments beside the model.
bool is_state_of_trainer(const std::string& name);

/// Whether a layout is that of a merged file: one card with one file.
bool is_of_one_file(const Layout& layout);

/// Throws usage if steps' checkpoints lie below the directory of a lone file, unless frameworks give whole models this
/// file's name.
void refuse_beside_steps(const std::filesystem::path& directory, const std::string& file, SourceStore& store);

/// Returns the file of a directory without a layout that is the whole checkpoint. It is the only file there, wherever
/// it lies if it says that it was merged. Or it has a name that frameworks give whole models (model.safetensors before
/// pytorch_model.bin, as they choose), if all such names belong to one model. Reports the files that it passes over.
/// Throws input if such a file only points to its data (Git LFS), or the directory names a checkpoint that is not
/// there.
std::optional<std::size_t> whole_file(const FoundFiles& found, SourceStore& store);

/// A model in several files without an index, where their names say that they are all of them ("-00001-of-00002") and
/// no tensor is in two of them: what the index would say.
std::optional<WeightMap> numbered_parts(const FoundFiles& found);

/// The error of files whose names say of how many ranks they are ("world_size_4"), where some ranks' are missing.
std::optional<Error> missing_by_count(const FoundFiles& found);

/// The error of a directory that has no files of its own, and is above those of several ranks' or steps' checkpoints.
std::optional<Error> above_checkpoints(const FoundFiles& found, SourceStore& store);

/// The error of files that cannot be one checkpoint's: those of several, a directory above them, files that are
/// missing.
std::optional<Error> unlike_one_checkpoint(const FoundFiles& found, SourceStore& store);

/// The error of files that do not say how they are cut: by what they are, the one thing to do. `otherwise`: what is
/// said of files that look like those of all ranks.
Error missing_layout_error(const FoundFiles& found, SourceStore& store, const Error::Text& otherwise);

}  // namespace ckpt
