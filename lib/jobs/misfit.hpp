#pragma once

#include "jobs/casts.hpp"
#include "jobs/expectation.hpp"
#include "proof/fitting_change.hpp"

namespace ckpt {

/// A source, with what a job takes of it, makes of it and expects, for `explain_misfit`. The arguments but `casts` must
/// outlive it.
MisfitSource misfit_of(const Checkpoint& checkpoint, SourceStore& store, const NameChoice& choice,
                       const ExpectedTensors& expected, const std::vector<CastRule>& casts = {});

}  // namespace ckpt
