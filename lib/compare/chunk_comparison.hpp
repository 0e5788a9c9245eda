#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "checkpoint/chunk_reader.hpp"
#include "checkpoint/source_reader.hpp"
#include "compare/mismatch.hpp"
#include "exchange/exchange.hpp"
#include "exchange/traffic.hpp"

namespace ckpt {

/// Two checkpoints to be compared; A is read for the elements that B stores.
struct ComparedPair {
  const Planner& planner;  ///< puts A's elements in the places of B's
  const Readers& readers;  ///< of A
  SourceReader& reader;    ///< of A
  const Checkpoint& b;
  SourceStore& store;
  std::vector<ParameterId> parameters;  ///< B's parameters whose elements are compared
  std::vector<Position> cards = {};     ///< B's cards whose files this process reads
  Agreement agreement;
  std::size_t most_open = 1;  ///< limit for B's files
};

/// A comparison in the form of an exchange: A's data moves to where B is read, in the form of B's arrays, as if B were
/// written again; instead, each chunk is compared with B's file. A derived class chooses the chunks.
class ChunkComparison : public Workload {
 public:
  /// `pair` and `traffic` must outlive it.
  ChunkComparison(const ComparedPair& pair, std::uint32_t process, Traffic& traffic);

  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    return pair_.planner.for_each_transfer(chunk, process_, visit);
  }
  /// A stretch is requested only once, so both sides must have room for it, as far as they read ahead.
  bool can_read_ahead() const override {
    const auto is_ready = [](const auto& side) { return !side.reads_ahead() || side.can_read_ahead(); };
    return (pair_.reader.reads_ahead() || files_.reads_ahead()) && is_ready(pair_.reader) && is_ready(files_);
  }
  void read_ahead(const Transfer& transfer, Lease& held) override { pair_.reader.read_ahead(transfer, held); }
  void read_ahead_to_write(const Chunk& chunk, Lease& held) override { files_.read_ahead(chunk, held); }
  bool has_padding(const Chunk& chunk) const override { return !pair_.planner.fills(chunk); }
  std::uint32_t owner(Position card) const override { return pair_.readers.owner(card); }
  PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) override;
  void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) override;
  void count_exchanged(std::uint64_t bytes) override { traffic_.bytes_exchanged += bytes; }

  /// Reads B's files.
  ChunkReader& files() noexcept { return files_; }

  /// The differences found so far, by B's parameter.
  const std::map<ParameterId, Mismatch>& found() const noexcept { return found_; }

 protected:
  const ComparedPair& pair() const noexcept { return pair_; }
  const Placement& b() const noexcept { return b_; }
  /// A's tensor, by B's parameter.
  const Tensor& a_tensor(ParameterId parameter) const;
  std::uint32_t process() const noexcept { return process_; }

 private:
  std::span<std::byte> recomputed(const Chunk& chunk, std::span<std::byte> bytes) const;

  const ComparedPair& pair_;
  const Placement& b_;
  std::uint32_t process_;
  Traffic& traffic_;
  bool is_scaled_ = false;  // some parameter
  ChunkReader files_;       // of B

  std::mutex mutex_;
  std::map<ParameterId, Mismatch> found_;
};

}  // namespace ckpt
