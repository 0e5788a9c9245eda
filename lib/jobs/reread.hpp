#pragma once

#include <cstdint>

#include "checkpoint/content_sums.hpp"
#include "output/target_files.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// Reads a new checkpoint's files back, by pieces of so many bytes: `written` is what they must be. Collective; throws
/// io, naming file and parameters, where the storage gives back anything else.
void check_reread(const Placement& target, TargetFiles& files, const ContentSums& written, std::uint64_t piece_bytes,
                  unsigned threads, Communicator& processes);

}  // namespace ckpt
