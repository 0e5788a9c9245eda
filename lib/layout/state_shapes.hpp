#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Optimizer state is known by its names: those of the parameters with some words before or behind ("exp_avg.w",
/// "state.w.exp_avg"), for at least half of them. Gives a warning for each kind of state that has another logical shape
/// than its parameter although both are stored alike or have as many elements: one of the two rules is then most likely
/// wrong, however well both fit. State that `is_excused` is passed over.
std::vector<std::string> unlike_states(const Placement& placement, const std::function<bool(ParameterId)>& is_excused);

}  // namespace ckpt
