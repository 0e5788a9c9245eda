#pragma once

#include <cstddef>

#include "base/limits.hpp"
#include "store/file_cache.hpp"

namespace ckpt {

/// How many files each cache of a job with so many threads may hold, of what the system allows this process and what is
/// open already. Throws io where that is none.
std::size_t files_in_cache(unsigned threads);
std::size_t files_in_cache(const OpenFiles& files, unsigned threads);

}  // namespace ckpt
