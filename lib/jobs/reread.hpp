#pragma once

#include <cstdint>

#include "checkpoint/content_sums.hpp"
#include "output/target_files.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// Reads a new checkpoint's files back, in pieces of `piece_bytes`, and compares them with `written`. Collective;
/// throws io, naming file and parameters, if the storage returns anything else.
void check_reread(const Placement& target, TargetFiles& files, const ContentSums& written, std::uint64_t piece_bytes,
                  unsigned threads, Communicator& processes);

}  // namespace ckpt
