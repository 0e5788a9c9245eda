#pragma once

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "plan/planner.hpp"

namespace ckpt {

/// For each array of the target, one before it that has the same bytes wherever both are: every file of the source has
/// stored the two once, as torch does with tied weights, and source and target spread them alike.
std::vector<std::optional<ArrayId>> tied_arrays(const Checkpoint& source, const Planner& planner);

}  // namespace ckpt
