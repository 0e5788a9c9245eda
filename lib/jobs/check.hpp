#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "compare/damage.hpp"
#include "jobs/types/expectation.hpp"
#include "jobs/types/progress.hpp"
#include "jobs/types/resources.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// One checkpoint to be checked against its manifest.
struct CheckJob {
  CheckpointPlace checkpoint;
  Resources resources;
  std::optional<Expectation> expectation = {};
  std::filesystem::path report = {};  ///< with the fingerprints of a file that went into a pipe; empty: it has them
};

/// The result of a check: how much was checked, and what is not as it was written. If the manifest itself is damaged,
/// nothing else can be checked, and the counts are 0.
struct Integrity {
  std::uint64_t files = 0;       ///< data files that the manifest names
  std::uint64_t parameters = 0;  ///< parameters that the manifest names
  std::uint64_t bytes = 0;       ///< in the files that were read; 0 if the search ended before
  std::vector<Damage> damages;   ///< empty: the checkpoint is as it was written
  Deviations deviations = {};    ///< from the reference
};

/// Checks a checkpoint against the manifest that was written with it. Compares the files and their sizes, including the
/// small ones beside the data. Recomputes the fingerprint of every file, and of every copy of every parameter. Ends at
/// damage that makes data unreachable: files that are missing, of another size or unreadable. Collective; the
/// result is the same on every process, and for any number of them. Throws input if there is no manifest.
Integrity check_integrity(const CheckJob& job, Stores& stores, Communicator& processes, Counters& counters);

}  // namespace ckpt
