#pragma once

#include <filesystem>
#include <string>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a path names a checkpoint of TensorFlow (a tensor bundle) among others of its directory: by what its files'
/// names begin with, as TensorFlow does, or by one of these files.
bool is_tensorflow_prefix(const std::filesystem::path& path);

/// Whether a directory has finished bundles, or is a SavedModel.
bool is_tensorflow(const std::filesystem::path& directory);

/// Whether a directory has nothing but parts of a save that did not end.
bool is_unfinished_tensorflow(const std::filesystem::path& directory);

/// Describes a bundle from its index: the one that the path names, the newest one that the directory's `checkpoint`
/// names, or the only one. Each data file is a card, or several if it holds several pieces of a tensor. Throws input if
/// the directory has several, or if the bundle is damaged or contradicts itself.
DirectoryDescription describe_tensorflow(const std::filesystem::path& path, SourceStore& store);

/// The prefix of the newest bundle by a file `checkpoint`, beside which it lies; empty if the file names none.
std::string newest_tensorflow_prefix(const std::filesystem::path& state_file);

}  // namespace ckpt
