#include "output/resume.hpp"

#include <mutex>

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// No chunk is larger, except one of a single element.
constexpr std::uint64_t most_bytes = 64ULL << 20;

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
    const Chunk chunk{record.card, array, record.elements, record.elements.size() * target.arrays()[array].dtype.size};
    if (buffer.size() < chunk.bytes) buffer = Buffer(chunk.bytes);
    const auto data = buffer.first(chunk.bytes);
    files.read(chunk, data);
    const ChunkSums found = sums.of(chunk, data);
    if (!(found.all == record.read) || !found.has_clean_padding) return;
    if (may_stay && !may_stay(array, data)) return;
    // The number of processes may have been another then: the rest of the chunk is others' now.
    const Interval mine = intersect(files.share(chunk.card, array), chunk.elements);
    const std::uint64_t element = target.arrays()[array].dtype.size;
    const Chunk part{chunk.card, array, mine, mine.size() * element};
    const ChunkSums of_part = mine == chunk.elements
                                  ? found
                                  : sums.of(part, data.subspan((mine.lo - chunk.elements.lo) * element, part.bytes));
    const std::lock_guard lock(mutex);
    if (!finished.add(part.card, part.array, part.elements)) return;
    sums.add(of_part);
    bytes += part.bytes;
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
