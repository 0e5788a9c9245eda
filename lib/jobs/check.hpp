#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/progress.hpp"
#include "jobs/resources.hpp"
#include "proof/damage.hpp"

namespace ckpt {

/// One checkpoint to be held against its manifest.
struct CheckJob {
  CheckpointPlace checkpoint;
  Resources resources;
};

struct Integrity {
  std::uint64_t files = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;      ///< of the files' data
  std::vector<Damage> damages;  ///< files and parameters are not counted where the manifest is damaged
};

/// Holds the checkpoint against the manifest that was written with it: its files, their sizes, and the
/// fingerprints of every file and of every copy of every parameter, computed anew from all that the files hold. What
/// keeps data from being reached (files that are missing, of another size or unreadable) ends the search. Collective;
/// the result is the same on every process, and for any number of them. Throws input where there is no manifest.
Integrity check_integrity(const CheckJob& job, Communicator& processes, Counters& counters);

}  // namespace ckpt
