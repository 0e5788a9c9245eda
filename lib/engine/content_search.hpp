#pragma once

#include <vector>

#include "engine/checkpoint.hpp"
#include "engine/integrity.hpp"
#include "engine/read_manifest.hpp"

namespace ckpt {

/// Sums all that the files hold, and tells what does not come to the manifest's fingerprints. Collective.
std::vector<Damage> search_contents(const Job& job, const Checkpoint& checkpoint, const Placement& placement,
                                    const Manifest& manifest, Store& store, Communicator& processes,
                                    Counters& counters);

}  // namespace ckpt
