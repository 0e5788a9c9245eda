#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "checkpoint/content_sums.hpp"
#include "checkpoint/source_reader.hpp"
#include "checkpoint/stored_sums.hpp"
#include "exchange/exchange.hpp"
#include "exchange/traffic.hpp"
#include "output/journal.hpp"
#include "output/target_files.hpp"
#include "plan/chunk_casts.hpp"
#include "plan/chunk_sequence.hpp"

namespace ckpt {

/// The participants when data moves from files to files.
struct FileMove {
  const Planner& planner;
  const ChunkCasts& casts;
  const Readers& readers;
  SourceReader& source;
  TargetFiles& target;
  std::uint32_t process = 0;
  Traffic& traffic;
  ContentSums* sums = nullptr;      ///< collects the written data's sums; null: nothing is verified
  Journal* journal = nullptr;       ///< records finished chunks; null: nothing is recorded
  bool marks_first_copies = false;  ///< whether `plan` sets Transfer::counts
  /// Whether stored checksums may be compared while data is read: this process writes all that it reads, and reads all
  /// of what it writes, and nobody sees the output before `finish`. If not, they are compared first.
  bool may_compare_late = false;
};

/// Moves a job's data from files to files. Compares checksums of the source before casting elements; the manifest's
/// sums are those of the elements after the cast.
class FileWorkload final : public Workload {
 public:
  /// The chunks must be in the cells of `move.casts`.
  FileWorkload(const FileMove& move, ChunkSequence chunks);

  std::optional<Chunk> next() override { return chunks_.next(); }
  Stretch alone(const Chunk& chunk) const override;
  bool extend(Stretch& stretch, const Chunk& next, std::uint64_t bytes) const override;
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override;
  bool can_read_ahead() const override { return move_.source.can_read_ahead(); }
  bool is_far_ahead() const override { return move_.source.is_far_ahead(); }
  void read_ahead(const Transfer& transfer, Lease& held) override { move_.source.read_ahead(transfer, held); }
  std::size_t decoded_at_once() const override { return move_.source.decoded_at_once(); }
  std::optional<SourceChunk> decodes(const Chunk& chunk) const override;
  bool has_padding(const Chunk& chunk) const override { return !move_.planner.fills(chunk); }
  std::uint32_t owner(Position card) const override { return move_.readers.owner(card); }
  void clone(Stretch& stretch) override;
  PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) override;
  bool is_written_in_order() const override { return move_.target.is_pipe(); }
  /// Throws io if the bytes are not those that were read.
  void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) override;
  void write_stretch(const Stretch& stretch, std::span<std::byte> bytes, std::span<const PartialSum> read) override;
  void count_exchanged(std::uint64_t bytes) override { move_.traffic.bytes_exchanged += bytes; }
  void stop() noexcept override { move_.target.stop(std::current_exception()); }

  /// Compares the checksums of the source that were not compared on the way, once everything is written. Throws input
  /// if one differs.
  void finish(unsigned threads);

  double read_seconds() const noexcept { return double(read_ns_.load()) * 1e-9; }
  double check_seconds() const noexcept { return double(check_ns_.load()) * 1e-9; }
  double write_seconds() const noexcept { return double(write_ns_.load()) * 1e-9; }
  /// How many finite elements of each of the target's parameters became infinite.
  const std::map<ParameterId, std::uint64_t>& overflows() const noexcept { return overflows_; }

 private:
  /// Converts a stretch to its stored form, and checks it; returns its records for the journal.
  std::vector<JournalRecord> settle(const Stretch& stretch, std::span<std::byte>& bytes,
                                    std::span<const PartialSum> read);
  /// Whether the dataset that a transfer reads from goes, in order, into one array that this process writes.
  bool is_read_through(const Transfer& transfer) const;
  /// Records a stretch in the journal, as soon as the checksums of all that was read for it have been compared: a later
  /// run trusts what is recorded, and may find another source.
  void note(const Stretch& stretch, const std::vector<JournalRecord>& records);
  /// A chunk in its stored form.
  Chunk stored(const Chunk& chunk) const;
  PartialSum sum_before_cast(const Chunk& chunk, const std::byte* memory) const;
  void cast(const Chunk& chunk, const std::byte* memory, std::byte* target);
  [[noreturn]] void refuse(const Chunk& chunk) const;

  FileMove move_;
  ChunkSequence chunks_;
  std::atomic<std::uint64_t> read_ns_{0};  // summed over threads
  std::atomic<std::uint64_t> check_ns_{0};
  std::atomic<std::uint64_t> write_ns_{0};
  std::optional<StoredSums> stored_sums_;
  struct Waiting {
    std::uint64_t begun = 0;  ///< StoredSums::begun
    JournalRecord record;
    std::uint64_t bytes = 0;
  };
  std::mutex noting_;
  std::deque<Waiting> waiting_;
  /// By array: one of its chunks had so many transfers that it is not worth planning the others twice.
  std::vector<std::atomic<bool>> is_in_crumbs_;
  std::mutex counting_;
  std::map<ParameterId, std::uint64_t> overflows_;
};

}  // namespace ckpt
