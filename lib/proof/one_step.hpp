#pragma once

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// Throws input, naming file and value, where the files say different steps of training (`is_progress_name`) in their
/// attributes, in JSON that is the text of one, or in the numbers of their trees: an earlier save that a later one has
/// overwritten in part, which is no checkpoint of either. Warns where some files lack what others of their kind say of
/// the whole file. A rule with "replicas": "first" whose name is the value's path excuses both.
void check_one_step(const Checkpoint& checkpoint);

}  // namespace ckpt
