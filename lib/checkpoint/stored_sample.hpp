#pragma once

#include <cstdint>
#include <string>

#include "store/store.hpp"

namespace ckpt {

/// A sample of what a file stores in one dataset: all of a small one, some runs of a large one.
struct StoredSample {
  std::uint64_t digest = 0;  ///< samples that differ here differ
  std::string value;         ///< of its elements, where all are the same; empty where they are not, or there are none
  bool is_empty = false;
  std::uint64_t bytes = 0;  ///< that were read
};

/// Throws what reading throws. Threads may read one file at once.
StoredSample stored_sample(SourceFile& file, const Schema& schema, std::size_t dataset);

}  // namespace ckpt
