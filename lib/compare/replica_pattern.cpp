#include "compare/replica_pattern.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/rule_name.hpp"

namespace ckpt {

namespace {

bool is_relevant(const Mesh& mesh, Axis axis, const std::vector<CardVersion>& versions) {
  std::unordered_map<Position, std::uint64_t> version_of;  // by the position with coordinate 0 on the axis
  return std::any_of(versions.begin(), versions.end(), [&](const CardVersion& each) {
    const Position others = each.card - mesh.coordinate(each.card, axis) * mesh.stride(axis);
    return version_of.try_emplace(others, each.version).first->second != each.version;
  });
}

/// The names of axes, each between two `mark`s.
std::vector<std::string> names_of(const Mesh& mesh, const std::vector<Axis>& axes, const std::string& mark = "") {
  std::vector<std::string> names;
  for (const Axis axis : axes) names.push_back(mark + mesh.axes[axis] + mark);
  return names;
}

/// Asks about the order of a bucket's members: if some are cut over another axis, a wrong order shows on the others.
std::string other_order(const Placement& placement, ParameterId parameter) {
  const Layout& layout = placement.layout();
  const Bucket& bucket = layout.buckets[*placement.shardings()[parameter].bucket];
  if (bucket.members.size() == 1) return "";
  return "do the members of bucket \"" + bucket.name + "\" stand in another order in the files (" + layout.origin +
         ")?";
}

/// Asks about the split that a layout lacks.
std::string missing_split(const Placement& placement, ParameterId parameter, const std::vector<Axis>& axes) {
  const Layout& layout = placement.layout();
  const Sharding& spread = placement.shardings()[parameter];
  const std::string names = join(names_of(placement.mesh(), axes, "\""));
  if (spread.boxes) return "are the boxes of these cards right (" + layout.origin + ")?";
  if (spread.bucket) {
    const std::string order = other_order(placement, parameter);
    return order + (order.empty() ? "" : " Else ") + "is " + names +
           " missing in \"split\" of that member of bucket \"" + layout.buckets[*spread.bucket].name + "\" (" +
           layout.origin + ")?";
  }
  if (spread.rule)
    return "is " + names + " missing in \"split\" of " + rule_name(layout, *spread.rule) + " (" + layout.origin + ")?";
  return "is a rule with \"split\" over " + names + " missing (" + layout.origin + ")?";
}

/// Asks about the entries of `indices` that a layout lacks.
std::string missing_count(const Mesh& mesh, const std::vector<IndexRule>& counts) {
  std::vector<Axis> axes;
  std::vector<std::string> entries;
  for (const IndexRule& rule : counts) {
    axes.insert(axes.end(), rule.axes.begin(), rule.axes.end());
    entries.push_back(to_json(rule, mesh));
  }
  return "does its name count what " + join(names_of(mesh, axes, "\"")) + " spreads? Then say \"indices\": [" +
         join(entries) + "]";
}

}  // namespace

std::string wider_entry(const Layout& layout, const std::string& name, const std::vector<Axis>& axes) {
  for (std::size_t entry = 0; entry < layout.indices.size(); ++entry) {
    const IndexRule& rule = layout.indices[entry];
    const auto is_over = [&](Axis axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
    if (std::none_of(rule.axes.begin(), rule.axes.end(), is_over) || rule.in.matches(name)) continue;
    const std::string& text = rule.in.text();
    const std::size_t end = text.find("{i}");
    if (end == 0 || end == std::string::npos) continue;  // there is nothing before the number
    const std::size_t begin = end < 2 ? 0 : text.find_last_of("./*?]}", end - 2) + 1;
    for (const std::string& before : {text.substr(0, end), "*" + text.substr(begin, end - begin)})
      if (const std::string wider = before + "{i}" + text[end - 1] + "*";
          begin < end && is_separator(text[end - 1]) && Pattern(wider, {"i"}).matches(name))
        return "is \"in\" of /indices/" + std::to_string(entry) + ", \"" + text + "\", too narrow? Then say \"" +
               wider + "\" (" + layout.origin + ")";
  }
  return "";
}

ReplicaPattern pattern_of(const Mesh& mesh, const std::vector<CardVersion>& versions) {
  ReplicaPattern pattern;
  for (Axis axis = 0; axis < mesh.axes.size(); ++axis)
    if (is_relevant(mesh, axis, versions)) pattern.axes.push_back(axis);
  std::map<std::uint64_t, std::uint64_t> cards;  // by version
  for (const CardVersion& each : versions) ++cards[each.version];
  const auto differs = [&](const auto& entry) { return entry.second != cards.begin()->second; };
  pattern.in_blocks = cards.size() > 1 && std::none_of(cards.begin(), cards.end(), differs);
  pattern.each_differs = cards.size() == versions.size();
  pattern.all_differ = pattern.each_differs && pattern.axes.size() > 1;
  return pattern;
}

ReplicaExplanation explain_replicas(const Placement& placement, ParameterId parameter,
                                    const std::vector<CardVersion>& versions, bool most_elements_differ,
                                    const std::vector<IndexRule>& counts) {
  const Tensor& tensor = placement.tensors()[parameter];
  const ReplicaPattern pattern = pattern_of(placement.mesh(), versions);
  const Advice trust{Advice::What::trust_replicas, ""};
  const bool is_member = placement.shardings()[parameter].bucket.has_value();
  const bool is_small = tensor.shape.size() < 2 && !is_member;  // a member takes no `replicas`
  if (!pattern.in_blocks || !most_elements_differ || pattern.axes.empty() || tensor.verbatim) {
    const std::string order = is_member ? other_order(placement, parameter) : "";
    return {"",
            is_small ? "if they are meant to differ, say \"replicas\": \"first\" in the rule"
                     : order + (order.empty() ? "have" : " Else have") + " they drifted apart, or is a file damaged?",
            trust};
  }
  ReplicaExplanation explanation{" over " + join(names_of(placement.mesh(), pattern.axes)), "", {}};
  explanation.remedy = wider_entry(placement.layout(), tensor.name, pattern.axes);
  if (!explanation.remedy.empty()) return explanation;
  if (!tensor.shape.empty()) explanation.remedy = missing_split(placement, parameter, pattern.axes);
  if (!counts.empty())
    explanation.remedy =
        missing_count(placement.mesh(), counts) + (explanation.remedy.empty() ? "" : ". Else " + explanation.remedy);
  const bool may_differ = is_small || (pattern.all_differ && !is_member);
  if (!counts.empty() || !may_differ) return explanation;
  explanation.remedy += (explanation.remedy.empty()          ? "if"
                         : explanation.remedy.ends_with('?') ? " Else, if"
                                                             : "; else, if") +
                        std::string(" they are meant to differ, say \"replicas\": \"first\" in the rule");
  explanation.advice = trust;
  return explanation;
}

}  // namespace ckpt
