#pragma once

#include <vector>

#include "checkpoint/content_sums.hpp"
#include "output/journal.hpp"
#include "output/target_files.hpp"
#include "plan/finished.hpp"

namespace ckpt {

/// What of this process's files an earlier run has finished: each chunk that its journal tells of is read back, and
/// counts (in `sums`, too) only where the data has the sum that was noted. Gives the bytes found good through `bytes`.
Finished check_finished(const std::vector<JournalRecord>& records, const Placement& target, TargetFiles& files,
                        unsigned threads, ContentSums& sums, std::uint64_t& bytes);

}  // namespace ckpt
