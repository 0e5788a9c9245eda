#pragma once

#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// Before anything is written: throws input for names that these target cards' files, or the manifest, could not hold,
/// naming the file that a parameter comes from.
void check_target_names(const Checkpoint& source, const Planner& planner, const std::vector<Position>& cards,
                        const Store& store);

}  // namespace ckpt
