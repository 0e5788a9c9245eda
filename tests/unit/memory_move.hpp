#pragma once

#include <numeric>
#include <vector>

#include "exchange/exchange.hpp"
#include "output/file_workload.hpp"
#include "plan/chunk_sequence.hpp"
#include "unit/memory_checkpoint.hpp"

// A checkpoint in memory that is moved into another layout by the parts that a job is made of.
namespace ckpt::fixture {

/// A checkpoint that is moved into another layout, step by step as a job does it.
class Move {
 public:
  Move(Memory& memory, const fs::path& source, const Layout& from, const Layout& to)
      : memory_(memory),
        checkpoint_(memory.open(source, from)),
        source_(resolve_source(from, checkpoint_.card_arrays()).placement),
        target_(resolve_target(to, source_.tensors()).placement),
        readers_(source_, {}),
        planner_(source_, target_, up_to<ParameterId>(source_.tensors().size()), readers_),
        casts_(planner_),
        output_({directory_ / "out"}),
        cards_(up_to<Position>(target_.mesh().size())),
        reader_(checkpoint_, source_, memory.stores.reading(), 1 << 20, 8),
        shares_(target_, 1),
        files_(checkpoint_, planner_, memory.stores.named("memory"),
               {.output = &output_, .fingerprints = FingerprintPlace::manifest}, shares_, 0, 2),
        sums_(target_) {
    output_.check_replaceable(to, {}, memory.stores.named("memory"));
    output_.claim();
    output_.begin("{}", false);
    files_.check_format();
  }

  /// All of it: what is then in `place` is the checkpoint.
  Move& whole() {
    create(false);
    fill();
    return *this;
  }
  void create(bool is_resumed) {
    make_files(is_resumed);
    files_.add_the_rest(sums_);
  }
  void make_files(bool is_resumed) { files_.create(is_resumed, 2, memory_.stores.reading()); }
  void fill() {
    const auto exchange = direct_exchange(*memory_.alone, {1 << 16, 2, 0, {}});
    FileWorkload work({planner_, casts_, readers_, reader_, files_, 0, traffic_, &sums_}, chunks());
    exchange->run(work);
  }

  fs::path place() const { return output_.partial(); }
  fs::path file(Position card) const { return output_.file(target_.layout().files.path(target_.mesh(), card)); }
  const Placement& target() const { return target_; }
  TargetFiles& files() { return files_; }
  const ContentSums& sums() const { return sums_; }
  ChunkSequence chunks() const {
    ChunkSequence chunks = files_.chunks(200);
    files_.cut_where_they_lie(chunks);
    return chunks;
  }
  std::string manifest() { return ckpt::manifest(target_, files_.list(&sums_), sums_.of_parameters(*memory_.alone)); }

 private:
  template <class Number>
  static std::vector<Number> up_to(std::uint64_t count) {
    std::vector<Number> numbers(count);
    std::iota(numbers.begin(), numbers.end(), Number{0});
    return numbers;
  }

  Memory& memory_;
  TemporaryDirectory directory_;
  Checkpoint checkpoint_;
  Placement source_;
  Placement target_;
  Readers readers_;
  Planner planner_;
  ChunkCasts casts_;
  Output output_;
  std::vector<Position> cards_;
  SourceReader reader_;
  WriteShares shares_;
  TargetFiles files_;
  ContentSums sums_;
  Traffic traffic_;
};

}  // namespace ckpt::fixture
