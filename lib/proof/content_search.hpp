#pragma once

#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/read_manifest.hpp"
#include "exchange/traffic.hpp"
#include "proof/damage.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// What is searched, and with what.
struct SearchedFiles {
  const Checkpoint& checkpoint;
  const Placement& placement;
  const Manifest& manifest;
  Stores& stores;
  std::size_t most_open = 1;       ///< files at a time
  std::uint64_t memory_bytes = 0;  ///< of all threads, for what is read
  unsigned threads = 1;
};

/// Sums all that the files hold, and reports what differs from the manifest's fingerprints. Collective.
std::vector<Damage> search_contents(const SearchedFiles& files, Communicator& processes, Traffic& traffic);

}  // namespace ckpt
