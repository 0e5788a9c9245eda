#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether a directory holds an item of Orbax's (JAX), a step with items, or a CheckpointManager's steps.
bool is_orbax(const std::filesystem::path& directory);

/// Whether such a directory is a step that was never finished, or has only such steps.
bool is_unfinished_orbax(const std::filesystem::path& directory);

/// Describes an item, the only item of a step, or that of the newest finished step: one card has all tensors, whole,
/// since Orbax says where each lies, and not which device wrote it. Throws input for a step that was not finished, and
/// for one of several items.
DirectoryDescription describe_orbax(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
