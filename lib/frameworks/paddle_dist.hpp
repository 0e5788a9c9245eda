#pragma once

#include <filesystem>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Whether paddle.distributed.save_state_dict wrote a directory, finished or not.
bool is_paddle_dist(const std::filesystem::path& directory);

/// Describes a directory from its newest metadata (`0.metadata`): each file is a card, or several if it has a run of
/// elements that is no box. Throws input if the files are not as the metadata say, or pieces are missing: Paddle itself
/// would load such a directory and leave those elements as they were.
DirectoryDescription describe_paddle_dist(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt
