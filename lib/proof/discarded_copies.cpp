#include "proof/discarded_copies.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "layout/name_groups.hpp"
#include "layout/rule_json.hpp"
#include "proof/missing_counts.hpp"
#include "proof/replica_elements.hpp"

namespace ckpt {

namespace {

/// RNG state and counters, which every card has of its own, have one dimension at most.
std::vector<ParameterId> matrices_of_first(const ReplicatedFiles& files) {
  const Placement& placement = files.placement;
  std::vector<ParameterId> parameters;
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter) {
    const Tensor& tensor = placement.tensors()[parameter];
    if (files.is_taken[parameter] && placement.spreads()[parameter].replicas == Replicas::first && !tensor.verbatim &&
        tensor.shape.size() > 1 && placement.copies(parameter) > 1)
      parameters.push_back(parameter);
  }
  return parameters;
}

/// Parameters whose copies differ alike, and what that suggests.
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
  const auto parameters = matrices_of_first(files);
  MissingCounts missing(files, processes);
  std::map<std::string, Discarded> found;  // by what may be counted, else by the remedy
  for (const ShardCopies& copies : differing_shards(files, parameters, parameters.size(), processes)) {
    const Disagreement between(copies);
    const ReplicaPattern pattern = pattern_of(placement.mesh(), between.versions);
    if (!pattern.in_blocks || pattern.all_differ) continue;
    const std::vector<IndexRule>& counts = missing.of(between.parameter, pattern.axes);
    ReplicaExplanation why = explain_replicas(placement, between.parameter, between.versions, true, counts);
    std::string key = counts.empty() ? why.remedy : "";
    for (const IndexRule& rule : counts) key += to_json(rule, placement.mesh());
    const auto group = found.try_emplace(key, Discarded{std::move(why), between, {}}).first;
    group->second.names.push_back(placement.tensors()[between.parameter].name);
  }
  std::vector<std::string> warnings;
  for (const auto& [key, discarded] : found)
    if (const auto elements = differing_elements(files, discarded.first, processes); elements.are_most)
      warnings.push_back(describe(placement, discarded, elements.text));
  return warnings;
}

}  // namespace ckpt
