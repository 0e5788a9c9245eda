#pragma once

#include <map>

#include "compare/mismatch.hpp"
#include "diagnosis/fitting_change.hpp"
#include "jobs/pairing.hpp"
#include "jobs/types/progress.hpp"

namespace ckpt {

/// Compares A's elements with B's on all processes. Returns, for each of B's parameters that differs, how it differs.
/// First checks A's own bytes against its layout, as far as `job.replicas` says; if they contradict it, the error
/// states the change that fits (`explain_misfit`). Collective.
std::map<ParameterId, Mismatch> compare_elements(const CompareJob& job, const Pairing& pairing,
                                                 const MisfitSource& misfit_of_a, SourceStore& store,
                                                 Communicator& processes, Counters& counters);

}  // namespace ckpt
