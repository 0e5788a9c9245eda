#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/content_sums.hpp"
#include "output/journal.hpp"
#include "output/target_files.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// From the records that the processes have read, selects those of data that this process writes now. Collective.
std::vector<JournalRecord> own_records(const std::vector<JournalRecord>& read, const Placement& target,
                                       const WriteShares& shares, Communicator& processes);

/// Whether a chunk's data may stay, although it has the recorded sum. Threads call it at the same time.
using MayStay = std::function<bool(ArrayId array, std::span<const std::byte> data)>;

/// Which parts of this process's files an earlier run finished: reads back each chunk in its journal, and counts it (in
/// `sums`, too) only if the data has the recorded sum and may stay. Adds the bytes found good to `bytes`.
Finished check_finished(const std::vector<JournalRecord>& records, const Placement& target, TargetFiles& files,
                        unsigned threads, ContentSums& sums, std::uint64_t& bytes, const MayStay& may_stay = {});

/// As check_finished, for the records in a journal's directory, where one process reads each file. Collective.
Finished find_finished(const std::filesystem::path& journal, const Placement& target, const WriteShares& shares,
                       TargetFiles& files, unsigned threads, ContentSums& sums, std::uint64_t& bytes,
                       const MayStay& may_stay, Communicator& processes);

}  // namespace ckpt
