#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory has one map of Keras' weights (`model.weights.json`), which are in several files beside it.
bool is_keras_weights(const std::filesystem::path& directory);

/// Describes such a directory: each file that the map names is a card that holds its tensors whole. Throws input for a
/// map of another form, and for files elsewhere.
DirectoryDescription describe_keras_weights(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
