#pragma once

#include <cstdint>
#include <string>

#include "store/store.hpp"

namespace ckpt {

/// A sample of what a file stores in one dataset: all of a small one, some runs of a large one.
struct StoredSample {
  std::uint64_t digest = 0;  ///< different digests mean different samples
  std::string value;         ///< an element's bytes, if all are the same; else, or without elements, empty
  bool is_empty = false;
  std::uint64_t bytes = 0;  ///< how many were read
};

/// Throws what reading throws. Threads may read one file at once.
StoredSample stored_sample(SourceFile& file, const Schema& schema, std::size_t dataset);

}  // namespace ckpt
