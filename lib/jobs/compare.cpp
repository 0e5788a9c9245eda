#include "jobs/compare.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "jobs/compare_elements.hpp"
#include "jobs/misfit.hpp"
#include "jobs/pairing.hpp"
#include "jobs/types/resources.hpp"
#include "tables/phase/compare_tables.hpp"

namespace ckpt {

namespace {

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
  SourceStore& store = stores.reading();
  const ExpectedTensors expected(job.expectation, store, processes);
  ComparedSide a{Checkpoint::open(with_threads(job.a, job.resources, processes), store, processes), {}};
  ComparedSide b{Checkpoint::open(with_threads(job.b, job.resources, processes), store, processes), {}};
  agree(processes, [&] {
    for (ComparedSide* side : {&a, &b}) side->files.take_first_copies(job.first_copies);
  });
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
      for (const auto& [name, in_tree] : a.files.tree_names()) names->add_alias(name, in_tree);
      for (const auto& [name, in_tree] : b.files.tree_names()) names->add_alias(in_tree, name);
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
  for (const ComparedSide* side : {&a, &b})
    for (const std::string& warning : side->resolved.warnings) log::warn(warning);
  expected.warn_of_idle({&result.a_deviations, &result.b_deviations});
  const auto mismatches = compare_elements(job, *pairing, misfit_of_a, store, processes, counters);
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
