#pragma once

#include <optional>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "jobs/types/expectation.hpp"
#include "jobs/types/selection.hpp"
#include "layout/placement/quantised_weights.hpp"

namespace ckpt {

/// Makes a checkpoint's quantised weights numbers (`Checkpoint::dequantise`, which throws). `names`: which of its
/// tensors a job takes. `asked`: the user's dtype, for the report of what was found; nothing: no report. Collective.
void dequantise(Checkpoint& checkpoint, const DType& dtype, const NameChoice& names, const std::optional<DType>& asked,
                SourceStore& store, Communicator& processes);

/// As `select`. Where a map of names does not take a quantised weight, the error names all of its tensors.
Selection select_weights(const NameChoice& names, const Placement& source,
                         const std::map<std::string, std::string>& masters);

/// Returns what to do where weights are quantised on one side, and numbers on the other; empty if they are alike.
std::string advice_on_codes(const Selection& selection, const ExpectedTensors& expected);

/// Throws usage if a checkpoint that is averaged has quantised weights: codes have no average. Collective.
void refuse_codes(const Checkpoint& checkpoint, const Placement& placement, Communicator& processes);

/// Tells the user which quantised weights a job moves as they are, and warns of those that lack a part. Throws layout
/// if the target cuts one where its codes lose their scales, as far as names and shapes tell (`check_scale_cuts` looks
/// at scales). Collective.
void check_moved_codes(const Checkpoint& checkpoint, const Placement& source, const Placement& target,
                       Communicator& processes);

}  // namespace ckpt
