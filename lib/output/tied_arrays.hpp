#pragma once

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// For each array of the target, an earlier one that has the same bytes wherever both exist: every file of the source
/// stores the two once, as torch does with tied weights, and source and target spread them alike.
std::vector<std::optional<ArrayId>> tied_arrays(const Checkpoint& source, const Planner& planner);

}  // namespace ckpt
