#include "diagnosis/check_source.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "compare/missing_counts.hpp"
#include "compare/replica_digests.hpp"
#include "compare/replica_elements.hpp"
#include "compare/replicas.hpp"
#include "diagnosis/equal_pieces_words.hpp"
#include "frameworks/flat_parameters.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/affix.hpp"
#include "layout/names/name_groups.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// Matrices, and parameters that `indices` may have left out. RNG state and counters, which every card has of its own,
/// have at most one dimension, and names of their own.
std::vector<ParameterId> suspects(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  std::vector<Axis> axes(placement.mesh().axes.size());
  std::iota(axes.begin(), axes.end(), Axis{0});
  return copied_parameters(files, Replicas::first, [&](const Tensor& tensor) {
    return !tensor.verbatim && (tensor.shape.size() > 1 || !wider_entry(placement.layout(), tensor.name, axes).empty());
  });
}

/// Distinguishes trained parameters, whose shards differ like this, from state that each card has of its own.
class TrainedParameters {
 public:
  explicit TrainedParameters(const Placement& placement) : placement_(placement) {
    for (const Tensor& tensor : placement.tensors())
      if (const auto of = parameter_of(tensor.name)) with_state_.insert(*of);
  }

  /// Whether a name is trained: a parameter by its name, or because state is kept for it; state if its parameter is
  /// trained and one of `differing`.
  bool holds(const std::string& name, const std::set<std::string>& differing) const {
    if (const auto of = parameter_of(name)) return differing.contains(*of) && holds(*of, differing);
    return name.ends_with("weight") || name.ends_with("kernel") || with_state_.contains(name);
  }

 private:
  std::optional<std::string> parameter_of(const std::string& name) const {
    const auto affix = affix_of(name, [&](const std::string& other) { return placement_.find(other).has_value(); });
    return affix ? affix->without(name) : std::nullopt;
  }

  const Placement& placement_;
  std::set<std::string> with_state_;
};

/// Parameters whose copies differ in the same way, and the explanation.
struct DiscardedCopies {
  ReplicaExplanation why;
  Disagreement first;
  std::vector<std::string> names;
};

std::string describe(const Placement& placement, const DiscardedCopies& discarded, const std::string& elements) {
  const bool is_one = discarded.names.size() == 1;
  const std::string& name = discarded.names.front();
  const auto groups = group_names(discarded.names);
  return placement.layout().origin + ": \"replicas\": \"first\" takes one copy of " +
         (is_one ? "parameter '" + name + "'"
                 : std::to_string(discarded.names.size()) + " parameters (" +
                       (groups.size() == 1 ? groups.front().pattern : join(describe_groups(groups), 8)) + ")") +
         ", whose copies differ" + discarded.why.over + (is_one ? ", in " : "; of '" + name + "' in ") + elements +
         ": " + discarded.why.remedy;
}

/// Looks for parameters of which `"replicas": "first"` discards copies that look like shards, or like other layers:
/// they differ in blocks along an axis, and in most elements. Examines parameters of two dimensions or more (only
/// trained ones if each card of a single axis has its own), and smaller ones whose names `indices` counts beside them.
/// Reads as much of them as check_replicas does of others. Returns warnings, each for a group of parameters.
/// Collective; the same on every process.
std::vector<std::string> find_discarded_copies(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return {};
  const Placement& placement = files.placement;
  const auto parameters = suspects(files);
  const auto all = differing_shards(files, parameters, parameters.size(), processes);
  std::set<std::string> differing;
  for (const ShardCopies& copies : all) differing.insert(placement.tensors()[copies.front().parameter].name);
  std::optional<TrainedParameters> trained;
  MissingCounts missing(files, processes);
  std::map<std::string, DiscardedCopies> found;  // by the entry of `indices` that may be missing, else by the remedy
  for (const ShardCopies& copies : all) {
    const Disagreement between(copies);
    const std::string& name = placement.tensors()[between.parameter].name;
    const ReplicaPattern pattern = pattern_of(placement.mesh(), between.versions);
    if (!pattern.in_blocks) continue;
    if (wider_entry(placement.layout(), name, pattern.axes).empty()) {
      if (placement.tensors()[between.parameter].shape.size() < 2 || pattern.all_differ) continue;
      if (pattern.each_differs && !trained) trained.emplace(placement);
      if (pattern.each_differs && !trained->holds(name, differing)) continue;
    }
    const std::vector<IndexRule>& counts = missing.of(between.parameter, pattern.axes);
    ReplicaExplanation why = explain_replicas(placement, between.parameter, between.versions, true, counts);
    std::string key = counts.empty() ? why.remedy : "";
    for (const IndexRule& rule : counts) key += to_json(rule, placement.mesh());
    const auto group = found.try_emplace(key, DiscardedCopies{std::move(why), between, {}}).first;
    group->second.names.push_back(name);
  }
  std::vector<std::string> warnings;
  for (const auto& [key, discarded] : found)
    if (const auto elements = differing_elements(files, discarded.first, processes); elements.are_most)
      warnings.push_back(describe(placement, discarded, elements.text));
  return warnings;
}

/// The first card's dataset of a parameter, or null.
const Dataset* first_dataset(const ReplicatedFiles& files, ParameterId parameter) {
  const Placement& placement = files.placement;
  return files.checkpoint.find(placement.first_base(parameter), placement.arrays()[placement.array_of(parameter)].name);
}

/// FSDP1 with use_orig_params saves, beside a flat parameter, each rank's part of every parameter in it as a vector.
void refuse_parts_of_flat(const std::set<std::string>& names, const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  for (const std::string& name : names) {
    const Tensor& tensor = placement.tensors()[*placement.find(name)];
    if (tensor.shape.size() != 1) continue;
    throw Error(Kind::input, placement.layout().origin,
                {"'" + name +
                     "' stands beside flat parameters of FSDP's LOCAL_STATE_DICT, a vector of one value on "
                     "each card, so that it may be whole or each card's part of it",
                 "values that tell the one from the other",
                 "where it is whole, say so with --first " + shell_word(name),
                 {Advice::What::leave_out, ""}})
        .of_parameter(name);
  }
}

/// Parameters that count as copies on each card for no other reason than their equal shapes.
std::vector<ParameterId> plain_parameters(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  const auto has_piece = [&](ParameterId parameter) {
    const Dataset* const dataset = first_dataset(files, parameter);
    return dataset != nullptr && dataset->piece.has_value();
  };
  bool is_any_piece = hold_flat_parameters(files.checkpoint.files());
  for (ParameterId p = 0; p < placement.tensors().size() && !is_any_piece; ++p) is_any_piece = has_piece(p);
  if (!is_any_piece) return {};
  auto parameters = copied_parameters(files, Replicas::check, [](const Tensor& tensor) {
    return !tensor.verbatim && !tensor.shape.empty() && numel(tensor.shape) > 1;
  });
  std::erase_if(parameters, [&](ParameterId p) {
    return placement.copies(p) < placement.mesh().size() || first_dataset(files, p) == nullptr || has_piece(p);
  });
  return parameters;
}

bool is_of_one_value(ReplicaReader& reader, const Placement& placement, ParameterId parameter) {
  const std::uint64_t element = placement.tensors()[parameter].dtype.size;
  const Position card = placement.first_base(parameter);
  std::vector<std::byte> first;
  bool is_one = true;
  for (const Interval& run : reader.runs(parameter, card))
    reader.for_each_region(parameter, card, run, [&](const Region& region) {
      const auto bytes = reader.read(parameter, card, region).bytes;
      if (first.empty() && bytes.size() >= element) first.assign(bytes.begin(), bytes.begin() + element);
      for (std::uint64_t at = 0; is_one && at + element <= bytes.size(); at += element)
        is_one = std::equal(first.begin(), first.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    });
  return is_one;
}

/// Warns, in one text, of tensors without a recorded place, beside tensors that have one, whose elements all have one
/// value: equal copies and equal parts look alike. Throws input if vectors of that kind accompany flat parameters of
/// FSDP1, because most of these are parts. Reads nothing with ReplicaCheck::trust. Collective; every process gets the
/// same warnings.
std::vector<std::string> warnings_of_plain_copies(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return {};
  const Placement& placement = files.placement;
  std::vector<std::string> mine;
  agree(processes, [&] {
    ReplicaReader reader(files);
    for (const ParameterId parameter : plain_parameters(files))
      if (files.process_of(placement.first_base(parameter), static_cast<std::uint32_t>(processes.size())) ==
              static_cast<std::uint32_t>(processes.rank()) &&
          is_of_one_value(reader, placement, parameter))
        mine.push_back(placement.tensors()[parameter].name);
  });
  std::set<std::string> names;
  for (const auto& theirs : gather_all(mine, processes)) names.insert(theirs.begin(), theirs.end());
  if (names.empty()) return {};
  agree(processes, [&] {
    if (hold_flat_parameters(files.checkpoint.files())) refuse_parts_of_flat(names, files);
  });
  return {placement.layout().origin +
          ": plain tensors beside sharded ones are taken as whole, the same on each card; "
          "all of one value are " +
          join({names.begin(), names.end()}) +
          ", so that it cannot be seen whether they are parts: compare their shapes (--expect)"};
}

}  // namespace

void check_source(const EqualFiles& files, Exchange& exchange, Communicator& processes) {
  check_replicas(files.replicated, processes);
  if (files.replicated.checkpoint.describes_itself())
    for (const std::string& warning : warnings_of_plain_copies(files.replicated, processes)) log::warn(warning);
  else
    for (const auto find : {find_discarded_copies, warnings_of_equal_pieces})
      for (const std::string& warning : find(files.replicated, processes)) log::warn(warning);
  check_equalities(files, exchange, processes);
}

}  // namespace ckpt
