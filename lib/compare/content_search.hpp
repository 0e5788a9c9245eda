#pragma once

#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/read_manifest.hpp"
#include "compare/damage.hpp"
#include "exchange/traffic.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// The files to be searched, and the resources for it.
struct SearchedFiles {
  const Checkpoint& checkpoint;
  const Placement& placement;
  const Manifest& manifest;
  Stores& stores;
  std::size_t most_open = 1;       ///< limit for files
  std::uint64_t memory_bytes = 0;  ///< for the data read, of all threads
  unsigned threads = 1;
};

/// Sums everything that the files hold, and reports differences from the manifest's fingerprints. Collective.
std::vector<Damage> search_contents(const SearchedFiles& files, Communicator& processes, Traffic& traffic);

}  // namespace ckpt
