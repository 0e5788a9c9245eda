#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/types/selection.hpp"

namespace ckpt {

/// A warning for each pattern of a choice that matches no name of a checkpoint, with a pattern that would match some,
/// or else the nearest names. `parameters`: all logical names. Values besides tensors are matched by the names in their
/// files.
std::vector<std::string> unused_patterns(const NameChoice& choice, const Checkpoint& checkpoint,
                                         const std::vector<std::string>& parameters);

}  // namespace ckpt
