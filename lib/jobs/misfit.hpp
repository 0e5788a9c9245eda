#pragma once

#include "jobs/expectation.hpp"
#include "proof/fitting_change.hpp"

namespace ckpt {

/// A source, with what a job takes of it and expects, for `explain_misfit`. The arguments must outlive it.
MisfitSource misfit_of(const Checkpoint& checkpoint, SourceStore& store, const NameChoice& choice,
                       const ExpectedTensors& expected);

}  // namespace ckpt
