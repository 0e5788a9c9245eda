#include "diagnosis/discarded_copies.hpp"

#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "compare/missing_counts.hpp"
#include "compare/replica_elements.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/affix.hpp"
#include "layout/names/name_groups.hpp"

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
class Trained {
 public:
  explicit Trained(const Placement& placement) : placement_(placement) {
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
struct Discarded {
  ReplicaExplanation why;
  Disagreement first;
  std::vector<std::string> names;
};

std::string describe(const Placement& placement, const Discarded& discarded, const std::string& elements) {
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

}  // namespace

std::vector<std::string> find_discarded_copies(const ReplicatedFiles& files, Communicator& processes) {
  if (files.extent == ReplicaCheck::trust) return {};
  const Placement& placement = files.placement;
  const auto parameters = suspects(files);
  const auto all = differing_shards(files, parameters, parameters.size(), processes);
  std::set<std::string> differing;
  for (const ShardCopies& copies : all) differing.insert(placement.tensors()[copies.front().parameter].name);
  std::optional<Trained> trained;
  MissingCounts missing(files, processes);
  std::map<std::string, Discarded> found;  // by the entry of `indices` that may be missing, else by the remedy
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
    const auto group = found.try_emplace(key, Discarded{std::move(why), between, {}}).first;
    group->second.names.push_back(name);
  }
  std::vector<std::string> warnings;
  for (const auto& [key, discarded] : found)
    if (const auto elements = differing_elements(files, discarded.first, processes); elements.are_most)
      warnings.push_back(describe(placement, discarded, elements.text));
  return warnings;
}

}  // namespace ckpt
