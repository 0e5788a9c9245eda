#include "jobs/compare.hpp"

#include <algorithm>
#include <map>

#include "base/log.hpp"
#include "checkpoint/checkpoint.hpp"
#include "exchange/exchange.hpp"
#include "jobs/compare_tables.hpp"
#include "jobs/memory_shares.hpp"
#include "jobs/misfit.hpp"
#include "jobs/resources.hpp"
#include "jobs/selection.hpp"
#include "layout/resolve.hpp"
#include "processes/gather_all.hpp"
#include "proof/check_source.hpp"
#include "proof/compare_workload.hpp"

namespace ckpt {

namespace {

/// One side: a checkpoint's files and what its layout makes of them.
struct Side {
  Checkpoint files;
  Resolved resolved;

  const Placement& placement() const noexcept { return resolved.placement; }
};

/// What each card holds of a parameter without elements of fixed size, by card id; it lies in the metadata. Where
/// copies may differ the first alone counts.
std::vector<std::pair<std::uint64_t, const Dataset*>> values(const Side& side, ParameterId parameter) {
  const Placement& placement = side.placement();
  const ArrayId array = placement.array_of(parameter);
  std::vector<std::pair<std::uint64_t, const Dataset*>> values;
  for (const Position card : placement.mesh().by_card()) {
    if (!placement.holds(card, array)) continue;
    values.emplace_back(placement.mesh().card(card), side.files.find(card, placement.arrays()[array].name));
    if (placement.spreads()[parameter].replicas == Replicas::first) break;
  }
  return values;
}

/// What the metadata tells, and what is left to compare.
class Pairing {
 public:
  /// `of_a`: A's parameters that count; `names`: which of B's do.
  Pairing(const CompareJob& job, const Side& a, const Side& b, Selection of_a, const CountedNames& names)
      : is_tolerant_(job.tolerance.has_value()),
        a_(a),
        b_(b),
        a_of_(b.placement().tensors().size(), 0),
        is_chosen_(a.placement().tensors().size(), false),
        of_a_(std::move(of_a)) {
    leave_out_of_tables(a.placement(), false, of_a_);
    for (const ParameterId parameter : of_a_.source_of) is_chosen_[parameter] = true;
    std::vector<bool> is_paired(a_of_.size(), false);
    for (std::size_t i = 0; i < of_a_.tensors.size(); ++i) {
      const Tensor& tensor = of_a_.tensors[i];
      if (const auto same = b.placement().find(tensor.name)) {
        is_paired[*same] = true;
        pair(of_a_.source_of[i], *same);
      } else {
        add(Difference::What::only_in_a, tensor.name, tensor.dtype.name + " " + to_string(tensor.shape), "");
      }
    }
    for (ParameterId parameter = 0; parameter < a_of_.size(); ++parameter) {
      const Tensor& tensor = b.placement().tensors()[parameter];
      const bool counts = names.counts(tensor.name) && !b.placement().layout().table_offsets.contains(tensor.name);
      if (counts) of_b_.tensors.push_back(tensor);
      if (counts) of_b_.source_of.push_back(parameter);
      if (counts && !is_paired[parameter])
        add(Difference::What::only_in_b, tensor.name, "", tensor.dtype.name + " " + to_string(tensor.shape));
    }
  }

  const std::vector<ParameterId>& a_of() const noexcept { return a_of_; }
  /// A's that count, under the names that B is to have.
  const Selection& of_a() const noexcept { return of_a_; }
  /// B's that count.
  const Selection& of_b() const noexcept { return of_b_; }
  /// Each of A's: whether it counts.
  const std::vector<bool>& is_chosen() const noexcept { return is_chosen_; }
  /// Those whose elements are to be compared.
  const std::vector<ParameterId>& parameters() const noexcept { return parameters_; }
  /// The comparison as far as the metadata tells it.
  const CompareReport& comparison() const noexcept { return comparison_; }

 private:
  void pair(ParameterId in_a, ParameterId in_b) {
    const Tensor& a = a_.placement().tensors()[in_a];
    const Tensor& b = b_.placement().tensors()[in_b];
    a_of_[in_b] = in_a;
    if (!is_comparable(a.dtype, b.dtype)) return add(Difference::What::dtype, b.name, a.dtype.name, b.dtype.name);
    if (is_of_table(in_a, in_b)) return pair_rows(a, b);
    if (!(a.shape == b.shape)) return add(Difference::What::shape, b.name, to_string(a.shape), to_string(b.shape));
    ++comparison_.parameters;
    comparison_.bytes += a.bytes();
    if (a.verbatim || b.verbatim) return compare_values(in_a, in_b);
    parameters_.push_back(in_b);
  }

  bool is_of_table(ParameterId in_a, ParameterId in_b) const {
    const std::string& name = b_.placement().tensors()[in_b].name;
    const bool is_in_a = a_.placement().layout().table_arrays.contains(a_.placement().tensors()[in_a].name);
    const bool is_in_b = b_.placement().layout().table_arrays.contains(name);
    if (is_in_a != is_in_b)
      throw Error(Kind::usage, "parameter '" + name + "'",
                  {std::string("it belongs to a table in ") + (is_in_a ? "A" : "B") + " alone",
                   "expected the table in the \"tables\" of both layouts", "a table's rows are compared by their keys"})
          .of_parameter(name);
    return is_in_a;
  }

  /// Rows are compared by their keys, however many there are.
  void pair_rows(const Tensor& a, const Tensor& b) {
    const bool is_same_row =
        a.shape.size() == b.shape.size() && std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
    if (!is_same_row) return add(Difference::What::shape, b.name, to_string(a.shape), to_string(b.shape));
    ++comparison_.parameters;
    comparison_.bytes += a.bytes();
  }

  bool is_comparable(const DType& a, const DType& b) const {
    if (a == b || are_same_numbers(a, b)) return true;
    const auto one = number_format(a);
    const auto other = number_format(b);
    return is_tolerant_ && one && other && one->is_float && other->is_float;
  }

  void add(Difference::What what, const std::string& name, const std::string& a, const std::string& b) {
    comparison_.differences.push_back({what, name, a, b, {}, {}, 0, 0, 1, {}});
  }

  void compare_values(ParameterId in_a, ParameterId in_b) {
    const Dataset* const expected = values(a_, in_a).front().second;
    Difference difference{Difference::What::value, b_.placement().tensors()[in_b].name, "", "", {}, {}, 0, 0, 1, {}};
    for (const auto& [card, found] : values(b_, in_b))
      if (found->verbatim != expected->verbatim) difference.cards.push_back(card);
    if (!difference.cards.empty()) comparison_.differences.push_back(std::move(difference));
  }

  bool is_tolerant_;
  const Side& a_;
  const Side& b_;
  std::vector<ParameterId> a_of_;  // by B's parameter; of no meaning for those that B alone has
  std::vector<bool> is_chosen_;    // by A's parameter
  Selection of_a_;
  Selection of_b_;
  std::vector<ParameterId> parameters_;
  CompareReport comparison_;
};

/// The comparison of A's bytes with B's, on all processes.
class Elements {
 public:
  Elements(const CompareJob& job, const Side& a, const Side& b, std::size_t most_open, Communicator& processes,
           Counters& counters)
      : job_(job),
        a_(a),
        b_(b),
        most_open_(most_open),
        processes_(processes),
        counters_(counters),
        threads_(thread_count(job.resources, processes)) {}

  std::map<ParameterId, Mismatch> compare(const Pairing& pairing, SourceStore& store) {
    const ExchangeKind kind = choose_exchange(job_.resources.exchange, a_.files.is_shared(), processes_);
    const bool is_direct = kind == ExchangeKind::direct;
    const auto process = static_cast<std::uint32_t>(processes_.rank());
    const auto process_count = static_cast<std::uint32_t>(processes_.size());
    const Owners owners = a_.files.owners(process_count);
    const Readers readers(a_.placement(), is_direct ? Owners{} : owners, job_.replicas == ReplicaCheck::full);
    const Planner planner(a_.placement(), b_.placement(), pairing.a_of(), readers);
    // A third each for mapped parts of A, for staging, and for what is read of B.
    MemoryShares shares;
    agree(processes_, [&] { shares = share_memory(job_.resources.memory_bytes, 3, largest_chunk_read(pairing)); });
    store.set_decoding_memory(shares.chunks);
    SourceReader reader(a_.files, a_.placement(), store, shares.windows, most_open_);

    counters_.phase = Phase::replicas;
    const auto exchange = make_exchange(kind, job_.resources, shares.rest / 2, threads_, processes_);
    std::vector<Equality> equal = a_.placement().equalities();
    std::erase_if(equal, [&](const Equality& pair) {
      return !pairing.is_chosen()[pair.parameter] || !pairing.is_chosen()[pair.other];
    });
    const Owners readers_of_a = a_.files.is_shared() ? Owners{} : owners;
    const std::vector<bool> held_against = without_tables(pairing.is_chosen(), a_.placement());
    check_source({{a_.files, a_.placement(), reader, readers_of_a, held_against, job_.replicas, threads_},
                  readers,
                  store,
                  std::move(equal),
                  most_open_},
                 *exchange, processes_);
    counters_.phase = Phase::compare;
    ComparedPair pair{planner, readers,          reader,    b_.files, store, pairing.parameters(),
                      {},      {job_.tolerance}, most_open_};
    const Owners b_owners = b_.files.owners(process_count);
    for (Position card = 0; card < b_owners.size(); ++card)
      if (b_owners[card] == process) pair.cards.push_back(card);
    CompareWorkload work(pair, exchange->chunk_bytes(), shares.order(), process, counters_);
    agree(processes_, [&] { read_past_memory(pair, *exchange, shares.rest / 2, reader, work); });
    exchange->run(work);
    agree(processes_, [&] {
      for (const FileNumber file : a_.files.own_files(process, process_count)) a_.files.check_unchanged(store, file);
      for (const Position card : pair.cards)
        for (const FileNumber file : b_.files.table().owned_by(card))
          if (b_.files.is_there(file)) b_.files.check_unchanged(store, file);
    });
    warn_of_repeats(job_.resources.memory_bytes, store.decoding(), processes_);
    return add_up(work.found());
  }

 private:
  /// Reads what the system has not in memory past it, into what `share` is left by the exchange, and by what is read of
  /// B; of A not where several processes of a node read the same files.
  void read_past_memory(const ComparedPair& pair, const Exchange& exchange, std::uint64_t share, SourceReader& of_a,
                        CompareWorkload& work) const {
    if (!exchange.reads_ahead()) return;
    const auto left = [&](std::uint64_t bytes) { return share - std::min(share, bytes); };
    if (!pair.readers.is_shared() || processes_.local_size() == 1)
      of_a.read_past_memory(left(exchange.staging_bytes()),
                            files_read_by(static_cast<std::uint32_t>(processes_.rank()), a_.files, pair.readers));
    std::vector<FileNumber> of_b;
    for (const Position card : pair.cards)
      for (const FileNumber file : b_.files.table().owned_by(card))
        if (b_.files.is_there(file)) of_b.push_back(file);
    work.files().read_past_memory(left(threads_ * exchange.chunk_bytes()), of_b);
  }

  /// Of either side.
  LargestChunk largest_chunk_read(const Pairing& pairing) const {
    std::vector<bool> of_a(a_.placement().arrays().size(), false);
    std::vector<bool> of_b(b_.placement().arrays().size(), false);
    for (const ParameterId parameter : pairing.parameters()) {
      of_b[b_.placement().array_of(parameter)] = true;
      of_a[a_.placement().array_of(pairing.a_of()[parameter])] = true;
    }
    const LargestChunk a = largest_chunk(a_.files, a_.placement(), [&](ArrayId array) { return of_a[array]; });
    const LargestChunk b = largest_chunk(b_.files, b_.placement(), [&](ArrayId array) { return of_b[array]; });
    return b.decoding_bytes > a.decoding_bytes ? b : a;
  }

  std::map<ParameterId, Mismatch> add_up(const std::map<ParameterId, Mismatch>& mine) {
    std::map<ParameterId, Mismatch> all;
    for (const auto& theirs : gather_all(mine, processes_))
      for (const auto& [parameter, mismatch] : theirs) all[parameter].add(mismatch);
    return all;
  }

  const CompareJob& job_;
  const Side& a_;
  const Side& b_;
  std::size_t most_open_;
  Communicator& processes_;
  Counters& counters_;
  unsigned threads_;
};

Difference difference(const Placement& b, ParameterId parameter, const Mismatch& found) {
  const Tensor& tensor = b.tensors()[parameter];
  const bool is_one_copy = b.spreads()[parameter].replicas == Replicas::first;
  const std::uint64_t copies = is_one_copy ? 1 : b.copies(parameter);
  Difference difference{Difference::What::elements,
                        tensor.name,
                        found.first_a,
                        found.first_b,
                        {},
                        index_of(found.first, tensor.shape),
                        found.count,
                        volume(tensor.shape) * copies,
                        copies,
                        std::nullopt};
  for (Position card = 0; card < found.cards.size(); ++card)
    if (found.cards[card]) difference.cards.push_back(b.mesh().card(card));
  std::sort(difference.cards.begin(), difference.cards.end());
  if (number_format(tensor.dtype)) difference.largest = found.largest;
  return difference;
}

}  // namespace

CompareReport compare(const CompareJob& job, Stores& stores, Communicator& processes, Counters& counters) {
  const std::size_t most_open = open_files_allowed(job.resources, processes);
  SourceStore& store = stores.reading();
  const ExpectedTensors expected(job.expectation, store, processes);
  Side a{Checkpoint::open(with_threads(job.a, job.resources, processes), store, processes), {}};
  Side b{Checkpoint::open(with_threads(job.b, job.resources, processes), store, processes), {}};
  counters.phase = Phase::plan;
  std::optional<Pairing> pairing;
  CompareReport result;
  const MisfitSource misfit_of_a = misfit_of(a.files, store, job.names, expected);
  std::optional<Selection> of_a;
  std::optional<CountedNames> names;
  explain_misfit(misfit_of_a, processes, [&] {
    agree(processes, [&] {
      a.resolved = resolve(a.files, misfit_of_a.keep, misfit_of_a.expected_shape);
      of_a = select(job.names, a.placement());
      names.emplace(job.names, a.resolved, *of_a);
    });
  });
  MisfitSource misfit_of_b{b.files, store};
  misfit_of_b.keep = [&](const std::string& name) { return names->counts(name); };
  misfit_of_b.expected_shape = [&](const std::string& name) { return expected.shape(name); };
  explain_misfit(misfit_of_b, processes, [&] {
    agree(processes, [&] { b.resolved = resolve(b.files, misfit_of_b.keep, misfit_of_b.expected_shape); });
  });
  agree(processes, [&] {
    pairing.emplace(job, a, b, *std::move(of_a), *names);
    result = pairing->comparison();
    result.a_deviations = expected.of(pairing->of_a(), a.placement(), &*names);
    result.b_deviations = expected.of(pairing->of_b(), b.placement(), &*names);
  });
  for (const Side* side : {&a, &b})
    for (const std::string& warning : side->resolved.warnings) spdlog::warn(warning);
  expected.warn_of_idle({&result.a_deviations, &result.b_deviations});
  std::map<ParameterId, Mismatch> mismatches;
  explain_misfit(misfit_of_a, processes,
                 [&] { mismatches = Elements(job, a, b, most_open, processes, counters).compare(*pairing, store); });
  const auto counts_of_b = [&](ParameterId parameter) {
    return names->counts(b.placement().tensors()[parameter].name);
  };
  for (Difference& each :
       compare_tables({a.files, a.placement(), [&](ParameterId parameter) { return pairing->is_chosen()[parameter]; }},
                      {b.files, b.placement(), counts_of_b}, job.resources, store, processes))
    result.differences.push_back(std::move(each));
  for (const auto& [parameter, found] : mismatches)
    result.differences.push_back(difference(b.placement(), parameter, found));
  std::sort(result.differences.begin(), result.differences.end(), [](const Difference& one, const Difference& other) {
    return natural_less(one.parameter, other.parameter);
  });
  counters.phase = Phase::done;
  return result;
}

}  // namespace ckpt
