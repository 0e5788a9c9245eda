#include "proof/equalities.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "layout/name_groups.hpp"
#include "processes/gather_all.hpp"
#include "proof/compare_workload.hpp"
#include "proof/compared_runs.hpp"

namespace ckpt {

namespace {

/// Of each pair's other parameter, what its first copy holds, compared with what is moved there.
class EqualityWorkload final : public Workload {
 public:
  EqualityWorkload(const ComparedPair& pair, bool is_full, std::uint64_t chunk_bytes, const Communicator& processes,
                   Traffic& traffic)
      : pair_(pair),
        placement_(pair.planner.target()),
        compare_(pair, chunk_bytes, ChunkOrder::in_step, static_cast<std::uint32_t>(processes.rank()), traffic),
        is_full_(is_full),
        chunk_bytes_(std::min(chunk_bytes, compared_block_bytes)),
        rank_(static_cast<std::uint64_t>(processes.rank())),
        size_(static_cast<std::uint64_t>(processes.size())) {}

  std::optional<Chunk> next() override {
    for (;;) {
      if (run_ < runs_.size()) {
        const Interval run = runs_[run_++];
        // Where all see all files, each takes its turn; else the one that sees the card's.
        if (pair_.readers.is_shared() && number_++ % size_ != rank_) continue;
        return Chunk{cards_[card_ - 1], placement_.array_of(parameter()), run, run.size() * from().dtype.size};
      }
      if (card_ < cards_.size()) {
        const Position card = cards_[card_++];
        run_ = 0;
        runs_.clear();
        if (pair_.readers.is_shared() || pair_.readers.owner(card) == rank_)
          runs_ =
              compared_runs(placement_, parameter(), card, is_full_,
                            std::max(from().dtype.size, placement_.tensors()[parameter()].dtype.size), chunk_bytes_);
        continue;
      }
      if (parameter_ == pair_.parameters.size()) return std::nullopt;
      ++parameter_;
      card_ = 0;
      cards_.clear();
      const bool is_lowest = placement_.spreads()[parameter()].replicas == Replicas::first;
      placement_.for_each_first(parameter(), [&](Position first) {
        if (placement_.holds(first, placement_.array_of(parameter())))
          cards_.push_back(is_lowest ? placement_.lowest_holder(parameter(), first) : first);
      });
    }
  }

  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    return compare_.plan(chunk, visit);
  }
  bool has_padding(const Chunk& chunk) const override { return compare_.has_padding(chunk); }
  std::uint32_t owner(Position card) const override { return compare_.owner(card); }
  PartialSum read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) override {
    return compare_.read(transfer, target, scratch);
  }
  void write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& read) override {
    compare_.write(chunk, bytes, read);
  }
  void count_exchanged(std::uint64_t bytes) override { compare_.count_exchanged(bytes); }

  const std::map<ParameterId, Mismatch>& found() const noexcept { return compare_.found(); }

 private:
  ParameterId parameter() const { return pair_.parameters[parameter_ - 1]; }
  const Tensor& from() const { return placement_.tensors()[pair_.planner.source_of(parameter())]; }

  const ComparedPair& pair_;
  const Placement& placement_;
  CompareWorkload compare_;
  bool is_full_;
  std::uint64_t chunk_bytes_;
  std::uint64_t rank_;
  std::uint64_t size_;

  std::size_t parameter_ = 0;  // in pair_.parameters: the next
  std::vector<Position> cards_;
  std::size_t card_ = 0;
  std::vector<Interval> runs_;
  std::size_t run_ = 0;
  std::uint64_t number_ = 0;
};

/// A pair whose values differ.
struct Unequal {
  Equality pair;
  Mismatch found;
};

/// Pairs that can be compared at once: each pass has one for any other parameter.
std::vector<std::vector<Equality>> passes_of(const Placement& placement, const std::vector<Equality>& pairs) {
  std::map<ParameterId, std::size_t> passed;
  std::vector<std::vector<Equality>> passes;
  for (const Equality& pair : pairs) {
    if (placement.tensors()[pair.parameter].verbatim || placement.tensors()[pair.other].verbatim) continue;
    const std::size_t pass = passed[pair.other]++;
    if (pass == passes.size()) passes.emplace_back();
    passes[pass].push_back(pair);
  }
  return passes;
}

void check_dtypes(const Placement& placement, const std::vector<Equality>& pairs) {
  for (const Equality& pair : pairs) {
    const Tensor& one = placement.tensors()[pair.parameter];
    const Tensor& other = placement.tensors()[pair.other];
    if (one.dtype == other.dtype || (one.dtype.is_float() && other.dtype.is_float())) continue;
    throw Error(Kind::input, "parameter '" + one.name + "'",
                {"it is " + one.dtype.name + ", and '" + other.name + "', which it \"equals\", " + other.dtype.name,
                 "one dtype, or two of floating-point numbers", "is \"equals\" said of the right parameter?"})
        .of_parameter(one.name);
  }
}

[[noreturn]] void refuse_unequal(const Placement& placement, const std::vector<Unequal>& all) {
  const auto& [pair, found] = all.front();
  const Tensor& one = placement.tensors()[pair.parameter];
  const Tensor& other = placement.tensors()[pair.other];
  std::vector<std::string> names;
  for (std::size_t i = 1; i < all.size(); ++i) names.push_back(placement.tensors()[all[i].pair.parameter].name);
  const std::string more = names.empty() ? "" : "; so it is with " + join(describe_groups(group_names(names)));
  throw Error(
      Kind::input, "parameter '" + one.name + "'",
      {"it \"equals\" '" + other.name + "' by the layout, and differs from it in " + std::to_string(found.count) +
           (found.count == 1 ? " element" : " elements") + " of those compared, first at " +
           to_string(index_of(found.first, other.shape)) + ": " + found.first_a + " beside " + found.first_b,
       "expected the same values" + (one.dtype == other.dtype ? "" : ", rounded to " + other.dtype.name) + more,
       "do a bucket's members stand in another order, or a split's axes, or its parts?",
       {Advice::What::trust_replicas, ""}})
      .of_parameter(one.name);
}

}  // namespace

void check_equalities(const EqualFiles& files, Exchange& exchange, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return;
  const Placement& placement = files.placement;
  agree(processes, [&] { check_dtypes(placement, files.pairs); });
  std::vector<Unequal> unequal;
  for (const std::vector<Equality>& pass : passes_of(placement, files.pairs)) {
    std::vector<ParameterId> source_of(placement.tensors().size(), 0);
    std::vector<ParameterId> others;
    for (const Equality& pair : pass) {
      source_of[pair.other] = pair.parameter;
      others.push_back(pair.other);
    }
    const Planner planner(placement, placement, source_of, files.readers);
    const ComparedPair pair{planner, files.readers, files.reader,   files.checkpoint, files.store, others,
                            {},      {{}, true},    files.most_open};
    Traffic traffic;
    EqualityWorkload work(pair, files.extent == ReplicaCheck::full, exchange.chunk_bytes(), processes, traffic);
    exchange.run(work);
    std::map<ParameterId, Mismatch> found;
    for (const auto& theirs : gather_all(work.found(), processes))
      for (const auto& [other, mismatch] : theirs) found[other].add(mismatch);
    for (const auto& [other, mismatch] : found) unequal.push_back({{source_of[other], other}, mismatch});
  }
  agree(processes, [&] {
    if (!unequal.empty()) refuse_unequal(placement, unequal);
  });
}

}  // namespace ckpt
