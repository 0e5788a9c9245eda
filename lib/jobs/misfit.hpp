#pragma once

#include "jobs/casts.hpp"
#include "jobs/expectation.hpp"
#include "proof/fitting_change.hpp"

namespace ckpt {

/// A source, with the parameters that a job takes from it, their casts and their expected shapes, for `explain_misfit`.
/// The arguments except `casts` must outlive it.
MisfitSource misfit_of(const Checkpoint& checkpoint, SourceStore& store, const NameChoice& choice,
                       const ExpectedTensors& expected, const std::vector<CastRule>& casts = {});

}  // namespace ckpt
