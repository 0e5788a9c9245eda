#include "layout/language/layout_changes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/rule_name.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_ordered_axes = 5;  // limit for meshes whose orders are tried
constexpr std::size_t most_counters = 4;      // limit on the words before numbers that are tried
constexpr std::size_t most_ways_to_split = 64;

/// Returns nothing if the layout does not fit that mesh (`counts` for an axis of another size).
std::optional<Layout> on_reordered_mesh(const Layout& layout, const Mesh& mesh) {
  try {
    return with_axes(layout, mesh);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<Axis> in_order(std::size_t count) {
  std::vector<Axis> order(count);
  std::iota(order.begin(), order.end(), Axis{0});
  return order;
}

LayoutChange with_counts(const Layout& layout, const std::vector<IndexRule>& more) {
  LayoutChange change{"", layout};
  for (const IndexRule& rule : more) {
    change.layout.indices.push_back(rule);
    change.what += (change.what.empty() ? "\"indices\" with " : " and ") + to_json(rule, layout.mesh);
  }
  return change;
}

/// Returns all sets of `count` axes longer than 1.
std::vector<std::vector<Axis>> sets_of(const Mesh& mesh, std::size_t count) {
  std::vector<std::vector<Axis>> sets;
  for (std::uint64_t subset = 0; subset < std::uint64_t{1} << mesh.axes.size(); ++subset) {
    std::vector<Axis> axes;
    for (Axis axis = 0; axis < mesh.axes.size(); ++axis)
      if ((subset >> axis & 1) != 0 && mesh.shape[axis] > 1) axes.push_back(axis);
    if (axes.size() == count && std::find(sets.begin(), sets.end(), axes) == sets.end()) sets.push_back(axes);
  }
  return sets;
}

/// Distributes the axes from `next` on over the dimensions in every way and order, up to a limit.
void distribute(const std::vector<Axis>& axes, std::size_t next, std::vector<std::vector<Axis>>& split,
                std::vector<std::vector<std::vector<Axis>>>& found) {
  if (found.size() == most_ways_to_split) return;
  if (next == axes.size()) {
    found.push_back(split);
    return;
  }
  for (auto& of_dim : split)
    for (std::size_t at = 0; at <= of_dim.size(); ++at) {
      of_dim.insert(of_dim.begin() + static_cast<std::ptrdiff_t>(at), axes[next]);
      distribute(axes, next + 1, split, found);
      of_dim.erase(of_dim.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

}  // namespace

std::vector<LayoutChange> other_meshes(const Layout& layout) {
  const Mesh& mesh = layout.mesh;
  std::vector<LayoutChange> changes;
  if (mesh.axes.size() < 2 || mesh.axes.size() > most_ordered_axes) return changes;
  std::set<std::pair<std::vector<std::string>, std::vector<std::uint64_t>>> known{{mesh.axes, mesh.shape}};
  for (const bool sizes_follow : {true, false})
    for (auto order = in_order(mesh.axes.size()); std::next_permutation(order.begin(), order.end());) {
      Mesh other = mesh;
      for (Axis place = 0; place < order.size(); ++place) {
        other.axes[place] = mesh.axes[order[place]];
        if (sizes_follow) other.shape[place] = mesh.shape[order[place]];
      }
      if (!known.emplace(other.axes, other.shape).second) continue;
      if (auto changed = on_reordered_mesh(layout, other))
        changes.push_back({"\"mesh\": " + to_json(other), *std::move(changed)});
    }
  return changes;
}

std::vector<std::string> counter_patterns(const std::vector<std::string>& names) {
  std::map<std::string, bool> is_behind;  // by pattern: whether anything precedes it in any name
  for (const std::string& name : names)
    for (std::size_t begin = 0, previous = 0; begin < name.size();) {
      const auto from = name.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto end = static_cast<std::size_t>(std::find_if(from, name.end(), is_separator) - name.begin());
      if (end > begin && begin > 0 && std::all_of(from, name.begin() + static_cast<std::ptrdiff_t>(end), is_digit)) {
        const std::string behind = end < name.size() ? name.substr(end, 1) + "*" : "";
        bool& here = is_behind[literal(name.substr(previous, begin - previous)) + "{i}" + behind];
        here = here || previous > 0;
      }
      previous = begin;
      begin = end + 1;
    }
  std::vector<std::string> patterns;
  for (const auto& [pattern, is_inside] : is_behind) patterns.push_back((is_inside ? "*" : "") + pattern);
  return patterns;
}

std::vector<LayoutChange> more_counts(const Layout& layout, const std::vector<std::string>& names) {
  std::vector<IndexRule> rules;
  const auto patterns = counter_patterns(names);
  if (patterns.size() > most_counters || layout.mesh.axes.size() > most_ordered_axes) return {};
  for (const std::string& pattern : patterns)
    for (Axis axis = 0; axis < layout.mesh.axes.size(); ++axis) {
      if (layout.mesh.shape[axis] == 1) continue;
      IndexRule& rule = rules.emplace_back();
      rule.in = Pattern(pattern, {"i"});
      rule.axes = {axis};
      rule.numbering = Numbering::local;
    }
  std::vector<LayoutChange> changes;
  for (const IndexRule& rule : rules) changes.push_back(with_counts(layout, {rule}));
  for (std::size_t a = 0; a < rules.size(); ++a)
    for (std::size_t b = a + 1; b < rules.size(); ++b)
      if (rules[a].in.text() != rules[b].in.text() && rules[a].axes != rules[b].axes)
        changes.push_back(with_counts(layout, {rules[a], rules[b]}));
  return changes;
}

std::vector<LayoutChange> other_counts(const Layout& layout) {
  std::vector<LayoutChange> changes;
  for (std::size_t entry = 0; entry < layout.indices.size(); ++entry) {
    const auto add = [&](const std::string& what, const auto& edit) {
      LayoutChange& change = changes.emplace_back(LayoutChange{what + " in /indices/" + std::to_string(entry), layout});
      edit(change.layout.indices[entry]);
    };
    const IndexRule& rule = layout.indices[entry];
    for (Axis axis = 0; axis < layout.mesh.axes.size(); ++axis)
      if (rule.axes != std::vector<Axis>{axis} && layout.mesh.shape[axis] > 1 && rule.counts.empty())
        add("\"axis\": \"" + layout.mesh.axes[axis] + "\"", [&](IndexRule& other) { other.axes = {axis}; });
    const bool is_local = rule.numbering == Numbering::local;
    if (rule.first == 0 && !rule.restart)
      add(is_local ? "\"numbering\": \"global\"" : "\"numbering\": \"local\"",
          [&](IndexRule& other) { other.numbering = is_local ? Numbering::global : Numbering::local; });
    if (rule.total && rule.counts.empty()) add("leaving out \"total\"", [](IndexRule& other) { other.total.reset(); });
  }
  return changes;
}

std::vector<LayoutChange> other_splits(const Layout& layout, std::size_t rule_number) {
  std::vector<LayoutChange> changes;
  const Rule& rule = layout.parameters.at(rule_number);
  if (layout.mesh.axes.size() > most_ordered_axes || rule.like || rule.keys.boxes) return changes;
  const std::vector<std::vector<Axis>> now = rule.keys.split.value_or(std::vector<std::vector<Axis>>{});
  std::size_t count = 0;
  for (const auto& of_dim : now) count += of_dim.size();
  std::vector<std::vector<std::vector<Axis>>> splits;
  std::vector<std::vector<Axis>> split(std::max<std::size_t>(2, now.size()));
  for (const auto& axes : sets_of(layout.mesh, std::max<std::size_t>(1, count))) distribute(axes, 0, split, splits);
  for (auto& other : splits) {
    while (!other.empty() && other.back().empty()) other.pop_back();
    if (other == now) continue;
    Keys keys;
    keys.split = other;
    LayoutChange change{to_json(keys, layout.mesh) + " in " + rule_name(layout, rule_number), layout};
    change.layout.parameters[rule_number].keys.split = std::move(other);
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace ckpt
