#pragma once

#include <string_view>

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// Throws input, naming file and value, if the files state different training steps (`is_progress_name`), in
/// attributes, in JSON that is an attribute's text, or in the numbers of their trees: then a later save has overwritten
/// part of an earlier one, and the files are a checkpoint of neither. Warns if some files lack what others of their
/// kind state about the whole file. A rule with "replicas": "first" whose name is the value's path excuses both.
void check_same_step(const Checkpoint& checkpoint);

/// Whether the path of a small value says that it is the progress of training ("global_step", "epoch",
/// "trainer/num_updates"), which all files of one checkpoint must agree on. False for values that each card counts for
/// itself: the position of its data loader, the draws of its random generator.
bool is_progress_name(std::string_view path);

}  // namespace ckpt
