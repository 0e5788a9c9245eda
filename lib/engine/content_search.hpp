#pragma once

#include <vector>

#include "engine/checkpoint.hpp"
#include "engine/integrity.hpp"
#include "engine/read_manifest.hpp"

namespace ckpt {

/// Sums all that the files hold, of which `most_open` are open at a time, and tells what does not come to the
/// manifest's fingerprints. Collective.
std::vector<Damage> search_contents(const Job& job, const Checkpoint& checkpoint, const Placement& placement,
                                    const Manifest& manifest, Store& store, std::size_t most_open,
                                    Communicator& processes, Counters& counters);

}  // namespace ckpt
