#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"

namespace ckpt {

/// Recognises optimizer state by its names: those of the parameters with some words before or after ("exp_avg.w",
/// "state.w.exp_avg"), for at least half of them. Returns a warning for each kind of state whose logical shape differs
/// from its parameter's although both are stored alike, or have as many elements: one of the two rules is then most
/// likely wrong, however well both fit. Skips state that `is_allowed`.
std::vector<std::string> state_shape_warnings(const Placement& placement,
                                              const std::function<bool(ParameterId)>& is_allowed);

/// Returns a pattern for each kind of such state among names: "exp_avg.*", "state.*.step".
std::vector<std::string> state_patterns(const std::set<std::string>& names);

/// The names of all parameters.
std::set<std::string> names_of(const Placement& placement);

}  // namespace ckpt
