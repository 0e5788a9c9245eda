#pragma once

#include <map>

#include "jobs/pairing.hpp"
#include "jobs/progress.hpp"
#include "proof/fitting_change.hpp"
#include "proof/mismatch.hpp"

namespace ckpt {

/// Compares the elements of A's bytes with B's, on all processes: how each of B's parameters that differs does. First
/// A's own bytes are held against its layout, as far as `job.replicas` says; where they contradict it, the error has
/// the change that fits (`explain_misfit`). Collective.
std::map<ParameterId, Mismatch> compare_elements(const CompareJob& job, const Pairing& pairing,
                                                 const MisfitSource& misfit_of_a, SourceStore& store,
                                                 Communicator& processes, Counters& counters);

}  // namespace ckpt
