#include "jobs/compare.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/log.hpp"
#include "checkpoint/source_reader.hpp"
#include "compare/compare_workload.hpp"
#include "diagnosis/check_source.hpp"
#include "diagnosis/fitting_change.hpp"
#include "diagnosis/likeness/likeness.hpp"
#include "diagnosis/same_step.hpp"
#include "exchange/exchange.hpp"
#include "jobs/average.hpp"
#include "jobs/conflict_source.hpp"
#include "jobs/dequantise.hpp"
#include "jobs/indexed_store.hpp"
#include "jobs/name_maps.hpp"
#include "jobs/pairing.hpp"
#include "jobs/types/memory_shares.hpp"
#include "jobs/types/resources.hpp"
#include "processes/gather_all.hpp"
#include "tables/phase/compare_tables.hpp"

namespace ckpt {

namespace {

/// Compares A's bytes with B's on all processes.
class Elements {
 public:
  Elements(const CompareJob& job, const Pairing& pairing, const ConflictSource& conflict_of_a, SourceStore& store,
           Communicator& processes)
      : job_(job),
        pairing_(pairing),
        conflict_of_a_(conflict_of_a),
        store_(store),
        a_(pairing.a()),
        b_(pairing.b()),
        most_open_(open_files_allowed(job.resources, processes)),
        processes_(processes),
        threads_(thread_count(job.resources, processes)) {}

  /// `likeness`: what samples say of a map whose tensors differ.
  std::map<ParameterId, Mismatch> compare(Counters& counters, std::string& likeness) {
    const ExchangeKind kind = choose_exchange(job_.resources.exchange, a_.files.is_shared(), processes_);
    const bool is_direct = kind == ExchangeKind::direct;
    const auto process = static_cast<std::uint32_t>(processes_.rank());
    const auto process_count = static_cast<std::uint32_t>(processes_.size());
    const Owners owners = a_.files.owners(process_count);
    const Readers readers(a_.placement(), is_direct ? Owners{} : owners, job_.replicas == ReplicaCheck::full);
    const Planner planner(a_.placement(), b_.placement(), pairing_.a_of(), readers, pairing_.links());
    // One third each for mapped parts of A, for staging, and for B's data.
    MemoryShares shares;
    agree(processes_, [&] { shares = share_memory(job_.resources.memory_bytes, 3, largest_chunk_read()); });
    set_decoding_memory(
        store_,
        a_.files.averaged() != nullptr ? a_.files.averaged()->sources() : std::vector<const Checkpoint*>{&a_.files},
        shares.chunks);
    SourceReader reader(a_.files, a_.placement(), store_, shares.windows, most_open_);

    counters.phase = Phase::replicas;
    const auto exchange = make_exchange(kind, job_.resources, shares.rest / 2, threads_, processes_);
    explain_conflict(conflict_of_a_, processes_, [&] { check_a(readers, reader, *exchange); });
    counters.phase = Phase::compare;
    ComparedPair pair{.planner = planner,
                      .readers = readers,
                      .reader = reader,
                      .b = b_.files,
                      .store = store_,
                      .parameters = pairing_.parameters(),
                      .agreement = {job_.tolerance, job_.is_rounded},
                      .most_open = most_open_};
    const Owners b_owners = b_.files.owners(process_count);
    for (Position card = 0; card < b_owners.size(); ++card)
      if (b_owners[card] == process) pair.cards.push_back(card);
    CompareWorkload work(pair, exchange->chunk_bytes(), shares.order(), process, counters);
    agree(processes_, [&] { read_with_direct_io(pair, *exchange, shares.rest / 2, reader, work); });
    exchange->run(work);
    agree(processes_, [&] {
      for (const FileNumber file : a_.files.own_files(process, process_count)) a_.files.check_unchanged(store_, file);
      for (const Position card : pair.cards)
        for (const FileNumber file : b_.files.table().owned_by(card))
          if (b_.files.is_there(file)) b_.files.check_unchanged(store_, file);
    });
    warn_of_repeats(job_.resources.memory_bytes, decoding_of(store_), processes_);
    std::map<ParameterId, Mismatch> all = add_up(work.found());
    reader.read_buffered();
    if (!all.empty() && job_.is_explained && job_.names.mapping)
      likeness = likeness_of(planner, readers, reader, shares.rest / 2);
    return all;
  }

 private:
  /// Checks A's bytes against its layout, before comparing them with B's.
  void check_a(const Readers& readers, SourceReader& reader, Exchange& exchange) const {
    if (a_.files.averaged() != nullptr)
      check_others(*a_.files.averaged(), job_.replicas, threads_, most_open_, store_, exchange, processes_);
    std::vector<Equality> equal = a_.placement().equalities();
    for (const auto& [parameter, other] : pairing_.of_a().equal) equal.push_back({parameter, other});
    std::erase_if(equal, [&](const Equality& pair) {
      return !pairing_.is_chosen()[pair.parameter] || !pairing_.is_chosen()[pair.other];
    });
    const Owners owners =
        a_.files.is_shared() ? Owners{} : a_.files.owners(static_cast<std::uint32_t>(processes_.size()));
    if (job_.replicas != ReplicaCheck::trust) agree(processes_, [&] { check_same_step(a_.files); });
    const std::vector<bool> held_against = without_tables(pairing_.is_chosen(), a_.placement());
    const ReplicatedFiles replicated{.checkpoint = a_.files,
                                     .placement = a_.placement(),
                                     .reader = reader,
                                     .owners = owners,
                                     .is_taken = held_against,
                                     .extent = job_.replicas,
                                     .threads = threads_};
    check_source({replicated, readers, store_, std::move(equal), most_open_}, exchange, processes_);
  }

  /// Uses direct I/O for data that is not in the page cache: for A with the memory of `share` that the exchange leaves,
  /// for B with what B's chunks leave. Not for A if several processes of a node read the same files.
  void read_with_direct_io(const ComparedPair& pair, const Exchange& exchange, std::uint64_t share, SourceReader& of_a,
                           CompareWorkload& work) const {
    if (!exchange.reads_ahead()) return;
    const auto left = [&](std::uint64_t bytes) { return share - std::min(share, bytes); };
    if (!pair.readers.is_shared() || processes_.local_size() == 1)
      of_a.read_with_direct_io(left(exchange.staging_bytes()),
                               files_read_by(static_cast<std::uint32_t>(processes_.rank()), a_.files, pair.readers));
    std::vector<FileNumber> of_b;
    for (const Position card : pair.cards)
      for (const FileNumber file : b_.files.table().owned_by(card))
        if (b_.files.is_there(file)) of_b.push_back(file);
    work.files().read_with_direct_io(left(threads_ * exchange.chunk_bytes()), of_b);
  }

  std::string likeness_of(const Planner& planner, const Readers& readers, SourceReader& reader,
                          std::uint64_t memory) const {
    const std::set<std::string>& states = pairing_.of_a().states;
    std::vector<bool> is_weight(b_.placement().tensors().size(), false);
    for (const ParameterId parameter : pairing_.parameters())
      is_weight[parameter] = !states.contains(b_.placement().tensors()[parameter].name);
    return likeness_in_words({.planner = planner,
                              .readers = readers,
                              .reader = reader,
                              .names = job_.names,
                              .other = b_.files,
                              .of_other = b_.placement(),
                              .store = store_,
                              .other_name = "B",
                              .memory = memory,
                              .most_open = most_open_,
                              .threads = threads_,
                              .is_weight = [&](ParameterId parameter) { return is_weight[parameter]; }},
                             processes_);
  }

  /// The largest chunk on either side.
  LargestChunk largest_chunk_read() const {
    std::vector<bool> of_a(a_.placement().arrays().size(), false);
    std::vector<bool> of_b(b_.placement().arrays().size(), false);
    for (const ParameterId parameter : pairing_.parameters()) {
      of_b[b_.placement().array_of(parameter)] = true;
      of_a[a_.placement().array_of(pairing_.a_of()[parameter])] = true;
      if (!pairing_.links().empty() && pairing_.links()[parameter])
        pairing_.links()[parameter]->for_each_source(
            [&](ParameterId from) { of_a[a_.placement().array_of(from)] = true; });
    }
    const LargestChunk a = largest_chunk(a_.files, a_.placement(), [&](ArrayId array) { return of_a[array]; });
    const LargestChunk b = largest_chunk(b_.files, b_.placement(), [&](ArrayId array) { return of_b[array]; });
    LargestChunk larger = b.decoding_bytes > a.decoding_bytes ? b : a;
    larger.value_bytes = a.value_bytes + b.value_bytes;
    larger.is_averaged = a.is_averaged;
    return larger;
  }

  std::map<ParameterId, Mismatch> add_up(const std::map<ParameterId, Mismatch>& mine) {
    std::map<ParameterId, Mismatch> all;
    for (const auto& theirs : gather_all(mine, processes_))
      for (const auto& [parameter, mismatch] : theirs) all[parameter].add(mismatch);
    return all;
  }

  const CompareJob& job_;
  const Pairing& pairing_;
  const ConflictSource& conflict_of_a_;
  SourceStore& store_;
  const ComparedSide& a_;
  const ComparedSide& b_;
  std::size_t most_open_;
  Communicator& processes_;
  unsigned threads_;
};

/// Compares A's elements with B's on all processes. Returns, for each of B's parameters that differs, how it differs.
/// First checks A's own bytes against its layout, as far as `job.replicas` says; if they contradict it, the error
/// states the change that fits (`explain_conflict`). Collective.
std::map<ParameterId, Mismatch> compare_elements(const CompareJob& job, const Pairing& pairing,
                                                 const ConflictSource& conflict_of_a, SourceStore& store,
                                                 Communicator& processes, Counters& counters, std::string& likeness) {
  return Elements(job, pairing, conflict_of_a, store, processes).compare(counters, likeness);
}

/// The element of A, through a map of names, that is the element at an index of a tensor of B; empty without one.
std::string element_in_a(const Pairing& pairing, ParameterId parameter, const Shape& index) {
  if (pairing.links().empty()) return "";
  const auto in_words = [&](ParameterId in_a, const Shape& place) {
    return pairing.a().placement().tensors()[in_a].name + to_string(place);
  };
  const auto& links = pairing.links()[parameter];
  if (!links) return in_words(pairing.a_of()[parameter], index);
  Box element{index, index};
  for (std::size_t d = 0; d < element.rank(); ++d) ++element.hi[d];
  std::string text;
  links->for_each(element, [&](ParameterId in_a, const Link& link) {
    if (Box part = whole(link.size); narrow(part, link.target, element))
      text = in_words(in_a, hull(link.source, part).lo);
  });
  return text;
}

Difference difference(const Pairing& pairing, ParameterId parameter, const Mismatch& found) {
  const Placement& b = pairing.b().placement();
  const Tensor& tensor = b.tensors()[parameter];
  const bool is_one_copy = b.shardings()[parameter].replicas == Replicas::first;
  const std::uint64_t copies = is_one_copy ? 1 : b.copies(parameter);
  Difference difference{.what = Difference::What::elements,
                        .parameter = tensor.name,
                        .a = found.first_a,
                        .b = found.first_b,
                        .first = index_of(found.first, tensor.shape),
                        .count = found.count,
                        .compared = numel(tensor.shape) * copies,
                        .copies = copies};
  for (Position card = 0; card < found.cards.size(); ++card)
    if (found.cards[card]) difference.cards.push_back(b.mesh().card(card));
  std::sort(difference.cards.begin(), difference.cards.end());
  difference.first_in_a = element_in_a(pairing, parameter, difference.first);
  if (number_format(tensor.dtype)) difference.largest = found.largest;
  return difference;
}

/// A checkpoint's tensors by their logical names, without shapes.
MapSource names_in(const Checkpoint& checkpoint) {
  MapSource all;
  static_cast<void>(resolve(checkpoint, [&](const std::string& name) {
    all.tensors.emplace_back(Tensor{InternedText(name), {}, {}, false}, all.tensors.size());
    return false;
  }));
  return all;
}

/// The map of names from A to B; B's own names and shapes say which are wanted. If none is asked for, and A and B have
/// no name in common, config.json beside them may say one. Collective.
std::shared_ptr<const NameMapping> mapping_between(const CompareJob& job, const Checkpoint& a, const Checkpoint& b,
                                                   Communicator& processes) {
  MapWish wish;
  MapSource of_a;
  MapSource of_b;
  bool may_map = bool(job.map);
  const MapPlaces places{&a.layout(), &b.layout(), !job.map, {a.path(), b.path()}};
  if (!may_map && job.average.empty() && job.names.rename.empty() && may_say_map(places, processes))
    agree(processes, [&] {
      of_a = names_in(a);
      std::set<std::string> names;
      for (const auto& [tensor, number] : of_a.tensors) names.insert(tensor.name);
      of_b = names_in(b);
      may_map = !names.empty() &&
                std::ranges::none_of(of_b.tensors, [&](const auto& each) { return names.contains(each.first.name); });
    });
  if (!may_map) return nullptr;
  agree(processes, [&] {
    const auto placement = std::make_shared<const Placement>(resolve(b).placement);
    for (const Tensor& tensor : placement->tensors()) wish.names.push_back(tensor.name);
    wish.shape = [placement](const std::string& name) -> std::optional<Shape> {
      const auto found = placement->find(name);
      return found ? std::optional(Shape(placement->tensors()[*found].shape)) : std::nullopt;
    };
  });
  const std::vector<std::string> names_of_b = wish.names;
  std::shared_ptr<const NameMapping> mapping;
  try {
    mapping = load_mapping(job.map, places, std::move(wish), processes);
  } catch (const Error&) {
    if (job.map || !processes.failed_together()) throw;
    return nullptr;  // nobody has asked for a map: what differs is listed
  }
  if (job.map || !mapping) return mapping;
  agree(processes, [&] {
    try {
      const auto [of_source, of_output] = mapping->sides_of(of_a);
      if (of_source != of_output && mapping->makes(names_of_b))
        return log::info("names of \"{}\" in A and of \"{}\" in B: they are compared through the model's map of names",
                         of_source, of_output);
    } catch (const Error&) {  // no map has A's names, or several have
    }
    if (const auto text = missing_map(*mapping, of_a.names(), names_of_b); !text.found.empty())
      log::warn("{}; {}", text.found, text.remedy);
    mapping = nullptr;
  });
  return mapping;
}

/// Makes A the average of several checkpoints, in B's dtypes. Collective.
void average_a(const CompareJob& job, ComparedSide& a, const Placement& b, Selection& of_a, SourceStore& store,
               Communicator& processes) {
  std::vector<std::optional<DType>> taken(a.placement().tensors().size());
  for (std::size_t i = 0; i < of_a.tensors.size(); ++i) {
    const auto same = b.find(of_a.tensors[i].name);
    const auto format = same ? number_format(b.tensors()[*same].dtype) : std::nullopt;
    const bool may_be = format && format->is_float && format->size > 1;
    const DType& dtype = may_be ? b.tensors()[*same].dtype : of_a.tensors[i].dtype;
    taken[of_a.source_of[i]] = dtype;
    if (const TensorLinks* const links = of_a.links_of(i))
      links->for_each_source([&](ParameterId from) { taken[from] = dtype; });
  }
  average(a.files, a.placement(), taken,
          {.places = job.average,
           .names = job.names,
           .map = job.map,
           .first_copies = job.first_copies,
           .dequantised = job.dequantised,
           .models = job.models,
           .is_like_model = job.is_like_model,
           .is_told = job.is_explained,
           .resources = job.resources},
          store, processes);
  agree(processes, [&] {
    const auto is_kept = [&](const std::string& name) { return a.placement().find(name).has_value(); };
    a.resolved.placement = resolve(a.files, is_kept).placement;
    for (std::size_t i = 0; i < of_a.tensors.size(); ++i)
      of_a.tensors[i].dtype = a.placement().tensors()[of_a.source_of[i]].dtype;
  });
}

/// Names of B count if A's do that are spelled otherwise: in the tree of one of them, or by the index of its format.
void add_other_spellings(const CompareJob& job, const ComparedSide& a, const ComparedSide& b, CountedNames& names) {
  for (const auto& [name, in_tree] : a.files.tree_names()) names.add_alias(name, in_tree);
  for (const auto& [name, in_tree] : b.files.tree_names()) names.add_alias(in_tree, name);
  if (a.index != nullptr) names.count_as([&a](const std::string& name) { return a.index->tensor_name(name); });
  if (b.index == nullptr) return;
  const NameFilter filter(job.names);
  const auto add = [&](const std::string& of_a) {
    const std::string name = filter.new_name(of_a);
    names.add_alias(name, b.index->tensor_name(name));
  };
  for (const Tensor& tensor : a.placement().tensors()) add(tensor.name);
  for (const std::string& name : a.resolved.left_out) add(name);
}

}  // namespace

CompareReport compare(const CompareJob& asked, Stores& stores, Communicator& processes, Counters& counters) {
  SourceStore& store = stores.reading();
  CompareJob job = asked;
  drop_own_average(job.average);
  const ExpectedTensors expected(job.expectation, store, processes);
  ComparedSide a{Checkpoint::open(with_threads(job.a, job.resources, processes), store, processes), {}};
  ComparedSide b{Checkpoint::open(with_threads(job.b, job.resources, processes), store, processes), {}};
  agree(processes, [&] {
    for (ComparedSide* side : {&a, &b}) side->files.take_first_copies(job.first_copies);
  });
  for (ComparedSide* side : {&a, &b})
    if (const Store* const of_side = indexed_store(side->files, stores, processes)) side->index = of_side->index();
  if (!job.names.mapping) job.names.take_mapping(mapping_between(job, a.files, b.files, processes));
  if (!job.average.empty()) leave_out_states(a.files, job.names, job.is_explained, processes);
  if (job.dequantised)
    dequantise(a.files, job.average.empty() ? *job.dequantised : number_type("f32").value(), job.names,
               job.is_explained ? job.dequantised : std::nullopt, store, processes);
  counters.phase = Phase::plan;
  std::optional<Pairing> pairing;
  CompareReport result;
  const ConflictSource conflict_of_a = conflict_source(a.files, store, job.names, expected);
  std::optional<Selection> of_a;
  std::optional<CountedNames> names;
  explain_conflict(conflict_of_a, processes, [&] {
    agree(processes, [&] {
      a.resolved = resolve(a.files, conflict_of_a.keep, conflict_of_a.expected_shape);
      of_a = select_weights(job.names, a.placement(), a.files.masters());
      names.emplace(job.names, a.resolved, *of_a);
      add_other_spellings(job, a, b, *names);
    });
  });
  ConflictSource conflict_of_b{b.files, store};
  conflict_of_b.keep = [&](const std::string& name) { return names->counts(name); };
  conflict_of_b.expected_shape = [&](const std::string& name) { return expected.shape(name); };
  explain_conflict(conflict_of_b, processes, [&] {
    agree(processes, [&] { b.resolved = resolve(b.files, conflict_of_b.keep, conflict_of_b.expected_shape); });
  });
  if (!job.average.empty()) average_a(job, a, b.placement(), *of_a, store, processes);
  agree(processes, [&] {
    if (job.names.mapping && processes.rank() == 0)
      for (const ComparedSide* side : {&a, &b}) check_trainer(*job.names.mapping, {}, side->files, store);
    pairing.emplace(job, a, b, *std::move(of_a), *names);
    result = pairing->comparison();
    result.a_deviations = expected.of(pairing->of_a(), a.placement(), &*names);
    result.b_deviations = expected.of(pairing->of_b(), b.placement(), &*names);
  });
  for (const ComparedSide* side : {&a, &b})
    for (const std::string& warning : side->resolved.warnings) log::warn(warning);
  expected.warn_of_idle({&result.a_deviations, &result.b_deviations});
  const auto mismatches = compare_elements(job, *pairing, conflict_of_a, store, processes, counters, result.likeness);
  warn_of_overflows(a.files, processes);
  const auto counts_of_b = [&](ParameterId parameter) {
    return names->counts(b.placement().tensors()[parameter].name);
  };
  for (Difference& each :
       compare_tables({a.files, a.placement(), [&](ParameterId parameter) { return pairing->is_chosen()[parameter]; }},
                      {b.files, b.placement(), counts_of_b}, job.resources, store, processes))
    result.differences.push_back(std::move(each));
  for (const auto& [parameter, found] : mismatches)
    result.differences.push_back(difference(*pairing, parameter, found));
  std::sort(result.differences.begin(), result.differences.end(), [](const Difference& one, const Difference& other) {
    return natural_less(one.parameter, other.parameter);
  });
  counters.phase = Phase::done;
  return result;
}

}  // namespace ckpt
