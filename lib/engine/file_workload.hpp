#pragma once

#include <atomic>
#include <vector>

#include "engine/chunk_sequence.hpp"
#include "engine/content_sums.hpp"
#include "engine/job.hpp"
#include "engine/journal.hpp"
#include "engine/source_reader.hpp"
#include "engine/target_files.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

/// A job's data, from files to files.
class FileWorkload final : public Workload {
 public:
  /// `sums` collects what is written, `journal` what is done; absent: nothing is verified, nothing is noted.
  FileWorkload(const Planner& planner, const Readers& readers, SourceReader& source, TargetFiles& target,
               ChunkSequence chunks, std::uint32_t process, Counters& counters, ContentSums* sums, Journal* journal);

  std::optional<Chunk> next() override;
  Stretch next_stretch(std::uint64_t bytes) override;
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    return planner_.for_each_transfer(chunk, process_, visit);
  }
  bool has_padding(const Chunk& chunk) const override { return planner_.filled_bytes(chunk) < chunk.bytes; }
  std::uint32_t owner(Position card) const override { return readers_.owner(card); }
  PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) override;
  /// Throws io when the bytes are not those that were read.
  void write(const Chunk& chunk, std::span<const std::byte> bytes, const PartialSum& read) override;
  void write_stretch(const Stretch& stretch, std::span<const std::byte> bytes,
                     std::span<const PartialSum> read) override;
  void count_exchanged(std::uint64_t bytes) override { counters_.bytes_exchanged += bytes; }

  double read_seconds() const noexcept { return double(read_ns_.load()) * 1e-9; }
  double write_seconds() const noexcept { return double(write_ns_.load()) * 1e-9; }

 private:
  void check(const Chunk& chunk, std::span<const std::byte> bytes, const PartialSum& read) const;

  const Planner& planner_;
  const Readers& readers_;
  SourceReader& source_;
  TargetFiles& target_;
  ChunkSequence chunks_;
  std::optional<Chunk> ahead_;  // the next one, if it has been looked at
  std::uint32_t process_;
  Counters& counters_;
  ContentSums* sums_;
  Journal* journal_;
  std::vector<ParameterId> target_of_;     // each source parameter: which target parameter's elements it has
  std::atomic<std::uint64_t> read_ns_{0};  // summed over threads
  std::atomic<std::uint64_t> write_ns_{0};
};

}  // namespace ckpt
