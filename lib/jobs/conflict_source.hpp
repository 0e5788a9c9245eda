#pragma once

#include "diagnosis/fitting_change.hpp"
#include "jobs/types/casts.hpp"
#include "jobs/types/expectation.hpp"

namespace ckpt {

/// A source, with the parameters that a job takes from it, their casts and their expected shapes, for
/// `explain_conflict`. The arguments except `casts` must outlive it.
ConflictSource conflict_source(const Checkpoint& checkpoint, SourceStore& store, const NameChoice& choice,
                               const ExpectedTensors& expected, const std::vector<CastRule>& casts = {});

}  // namespace ckpt
