#pragma once

#include <cstddef>

#include "base/limits.hpp"
#include "io/file_cache.hpp"

namespace ckpt {

/// How many files each cache of a job with `threads` threads may hold, given the system's limit for this process and
/// the files that are open already. Throws io if the limit leaves none.
std::size_t files_in_cache(unsigned threads);
std::size_t files_in_cache(const OpenFiles& files, unsigned threads);

}  // namespace ckpt
