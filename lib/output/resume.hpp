#pragma once

#include <vector>

#include "checkpoint/content_sums.hpp"
#include "output/journal.hpp"
#include "output/target_files.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// From records that the processes have read, those of data that this process writes now. Collective.
std::vector<JournalRecord> own_records(const std::vector<JournalRecord>& read, const Placement& target,
                                       const WriteShares& shares, Communicator& processes);

/// What of this process's files an earlier run has finished: each chunk that its journal tells of is read back, and
/// counts (in `sums`, too) only where the data has the sum that was noted. Gives the bytes found good through `bytes`.
Finished check_finished(const std::vector<JournalRecord>& records, const Placement& target, TargetFiles& files,
                        unsigned threads, ContentSums& sums, std::uint64_t& bytes);

/// The same of what an earlier run's processes have noted in a journal's directory, each file of which one process
/// reads. Collective.
Finished find_finished(const std::filesystem::path& journal, const Placement& target, const WriteShares& shares,
                       TargetFiles& files, unsigned threads, ContentSums& sums, std::uint64_t& bytes,
                       Communicator& processes);

}  // namespace ckpt
