#include "compare/equalities.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "compare/chunk_comparison.hpp"
#include "compare/replica_digests.hpp"
#include "layout/names/name_groups.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// Compares the first copy of each pair's other parameter with the elements that are moved there.
class EqualityWorkload final : public ChunkComparison {
 public:
  EqualityWorkload(const ComparedPair& pair, bool is_full, std::uint64_t chunk_bytes, const Communicator& processes,
                   Traffic& traffic)
      : ChunkComparison(pair, static_cast<std::uint32_t>(processes.rank()), traffic),
        is_full_(is_full),
        chunk_bytes_(std::min(chunk_bytes, compared_block_bytes)),
        size_(static_cast<std::uint64_t>(processes.size())) {}

  std::optional<Chunk> next() override {
    for (;;) {
      if (run_ < runs_.size()) {
        const Interval run = runs_[run_++];
        // If all processes see all files, they take turns; else the one that sees the card's file compares.
        if (pair().readers.is_shared() && number_++ % size_ != process()) continue;
        return Chunk{cards_[card_ - 1], b().array_of(parameter()), run, run.size() * from().dtype.size};
      }
      if (card_ < cards_.size()) {
        const Position card = cards_[card_++];
        run_ = 0;
        runs_.clear();
        if (pair().readers.is_shared() || pair().readers.owner(card) == process())
          runs_ = compared_runs(b(), parameter(), card, is_full_,
                                std::max(from().dtype.size, b().tensors()[parameter()].dtype.size), chunk_bytes_);
        continue;
      }
      if (parameter_ == pair().parameters.size()) return std::nullopt;
      ++parameter_;
      card_ = 0;
      cards_.clear();
      b().for_each_first(parameter(), [&](Position first) {
        if (b().holds(first, b().array_of(parameter()))) cards_.push_back(b().counted_card(parameter(), first));
      });
    }
  }

 private:
  ParameterId parameter() const { return pair().parameters[parameter_ - 1]; }
  const Tensor& from() const { return a_tensor(parameter()); }

  bool is_full_;
  std::uint64_t chunk_bytes_;
  std::uint64_t size_;

  std::size_t parameter_ = 0;  // index of the next in pair().parameters
  std::vector<Position> cards_;
  std::size_t card_ = 0;
  std::vector<Interval> runs_;
  std::size_t run_ = 0;
  std::uint64_t number_ = 0;
};

/// A pair whose values differ.
struct UnequalPair {
  Equality pair;
  Mismatch found;
};

/// Groups of pairs that can be compared at once: a pass has at most one pair for each other parameter.
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

[[noreturn]] void refuse_unequal(const Placement& placement, const std::vector<UnequalPair>& all) {
  const auto& [pair, found] = all.front();
  const Tensor& one = placement.tensors()[pair.parameter];
  const Tensor& other = placement.tensors()[pair.other];
  std::vector<std::string> names;
  for (std::size_t i = 1; i < all.size(); ++i) names.push_back(placement.tensors()[all[i].pair.parameter].name);
  const std::string more = names.empty() ? "" : "; so it is with " + join(describe_groups(group_names(names)));
  throw Error(Kind::input, "parameter '" + one.name + "'",
              {"it \"equals\" '" + other.name + "' by the layout or a map of names, and differs from it in " +
                   std::to_string(found.count) + (found.count == 1 ? " element" : " elements") +
                   " of those compared, first at " + to_string(index_of(found.first, other.shape)) + ": " +
                   found.first_a + " beside " + found.first_b,
               "the same values" + (one.dtype == other.dtype ? "" : ", rounded to " + other.dtype.name) + more,
               "do a bucket's members stand in another order, or a split's axes, or its parts?",
               {Advice::What::trust_replicas, ""}})
      .of_parameter(one.name);
}

}  // namespace

void check_equalities(const EqualFiles& files, Exchange& exchange, Communicator& processes) {
  const ReplicatedFiles& source = files.replicated;
  if (source.extent == ReplicaCheck::trust) return;
  const Placement& placement = source.placement;
  agree(processes, [&] { check_dtypes(placement, files.pairs); });
  std::vector<UnequalPair> unequal;
  for (const std::vector<Equality>& pass : passes_of(placement, files.pairs)) {
    std::vector<ParameterId> source_of(placement.tensors().size(), 0);
    std::vector<ParameterId> others;
    for (const Equality& pair : pass) {
      source_of[pair.other] = pair.parameter;
      others.push_back(pair.other);
    }
    const Planner planner(placement, placement, source_of, files.readers);
    const ComparedPair pair{.planner = planner,
                            .readers = files.readers,
                            .reader = source.reader,
                            .b = source.checkpoint,
                            .store = files.store,
                            .parameters = others,
                            .agreement = {.is_rounded = true},
                            .most_open = files.most_open};
    Traffic traffic;
    EqualityWorkload work(pair, source.extent == ReplicaCheck::full, exchange.chunk_bytes(), processes, traffic);
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
