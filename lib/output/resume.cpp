#include "output/resume.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// No chunk is larger, except one of a single element.
constexpr std::uint64_t most_bytes = 256ULL << 20;

/// So much is read back at a time.
constexpr std::uint64_t piece_bytes = 4ULL << 20;

/// Whether a record describes an existing run of elements.
bool makes_sense(const JournalRecord& record, const Placement& target, const TargetFiles& files) {
  if (record.array >= target.arrays().size() || record.card >= target.mesh().size()) return false;
  const auto array = static_cast<ArrayId>(record.array);
  const ArrayPlace& place = target.arrays()[array];
  if (place.verbatim || !target.holds(record.card, array) || !files.is_kept(record.card, array) ||
      intersect(files.share(record.card, array), record.elements).empty())
    return false;
  return record.elements.hi <= numel(target.stored_shape(array, record.card)) &&
         (record.elements.size() == 1 || record.elements.size() <= most_bytes / place.dtype.size);
}

/// The records in each process's share.
std::vector<std::vector<JournalRecord>> by_writer(const std::vector<JournalRecord>& records, const Placement& target,
                                                  const WriteShares& shares) {
  std::vector<std::vector<JournalRecord>> of_writer(shares.processes());
  for (const JournalRecord& record : records) {
    const bool is_known = record.array < target.arrays().size() && record.card < target.mesh().size();
    const auto array = static_cast<ArrayId>(record.array);
    if (!is_known || !target.holds(record.card, array)) continue;
    for (const std::uint32_t writer : shares.writers(record.card))
      if (!intersect(shares.of(writer, record.card, array), record.elements).empty())
        of_writer[writer].push_back(record);
  }
  return of_writer;
}

}  // namespace

std::vector<JournalRecord> own_records(const std::vector<JournalRecord>& read, const Placement& target,
                                       const WriteShares& shares, Communicator& processes) {
  std::vector<std::vector<JournalRecord>> of_writer;
  agree(processes, [&] { of_writer = by_writer(read, target, shares); });
  std::vector<JournalRecord> own;
  for (const auto& records : exchange_values(std::move(of_writer), processes))
    own.insert(own.end(), records.begin(), records.end());
  return own;
}

Finished check_finished(const std::vector<JournalRecord>& records, const Placement& target, TargetFiles& files,
                        unsigned threads, ContentSums& sums, std::uint64_t& bytes, const MayStay& may_stay) {
  Finished finished;
  std::mutex mutex;
  const auto check = [&](Buffer& buffer, std::uint64_t number) {
    const JournalRecord& record = records[number];
    if (!makes_sense(record, target, files)) return;
    const auto array = static_cast<ArrayId>(record.array);
    const std::uint64_t element = target.arrays()[array].dtype.size;
    const std::uint64_t step = std::max<std::uint64_t>(piece_bytes / element, 1);
    if (buffer.size() < step * element) buffer = Buffer(step * element);
    // The number of processes may have been another then: a part of the chunk is others' now.
    const Interval mine = intersect(files.share(record.card, array), record.elements);
    PartialSum all;
    std::vector<ChunkSums> own;
    for (std::uint64_t lo = record.elements.lo; lo < record.elements.hi; lo += step) {
      const Interval here{lo, std::min(record.elements.hi, lo + step)};
      const Chunk piece{record.card, array, here, here.size() * element};
      const auto data = buffer.first(piece.bytes);
      files.read(piece, data);
      ChunkSums found = sums.of(piece, data);
      if (!found.has_clean_padding || (may_stay && !may_stay(array, data))) return;
      all += found.all;
      if (const Interval part = intersect(mine, here); part == here)
        own.push_back(std::move(found));
      else if (!part.empty())
        own.push_back(sums.of({record.card, array, part, part.size() * element},
                              data.subspan((part.lo - here.lo) * element, part.size() * element)));
    }
    if (!(all == record.read)) return;
    const std::lock_guard lock(mutex);
    if (!finished.add(record.card, array, mine)) return;
    for (const ChunkSums& each : own) sums.add(each);
    bytes += mine.size() * element;
  };
  for_each_in_parallel(
      threads, records.size(), [] { return Buffer(); }, check);
  return finished;
}

Finished find_finished(const std::filesystem::path& journal, const Placement& target, const WriteShares& shares,
                       TargetFiles& files, unsigned threads, ContentSums& sums, std::uint64_t& bytes,
                       const MayStay& may_stay, Communicator& processes) {
  std::vector<JournalRecord> records;
  agree(processes, [&] {
    records = read_journal(journal, static_cast<std::uint64_t>(processes.rank()),
                           static_cast<std::uint64_t>(processes.size()));
  });
  records = own_records(records, target, shares, processes);
  Finished finished;
  agree(processes, [&] { finished = check_finished(records, target, files, threads, sums, bytes, may_stay); });
  return finished;
}

}  // namespace ckpt
