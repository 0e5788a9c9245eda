#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a path is a map of Keras' weights, by its name: what Keras' load_weights takes.
bool is_keras_map(const std::filesystem::path& path);

/// Whether a directory has one map of Keras' weights (`model.weights.json`), which are in several files beside it.
bool is_keras_weights(const std::filesystem::path& directory);

/// Describes such a directory, or the map that the path is: each file that the map names is a card that holds its
/// tensors whole. Throws input for a map of another form, and for files elsewhere.
DirectoryDescription describe_keras_weights(const std::filesystem::path& path, SourceStore& store);

}  // namespace ckpt
