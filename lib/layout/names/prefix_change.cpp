#include "layout/names/prefix_change.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "layout/names/literal.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_components = 4;  ///< limit on a prefix's components
constexpr std::size_t most_renames = 4;

bool ends_component(char c) {
  return c == '.' || c == '/';
}

/// Calls visit(prefix, rest) for each way to remove components from a name's beginning.
template <class Visit>
void for_each_prefix(const std::string& name, const Visit& visit) {
  std::size_t components = 0;
  for (std::size_t i = 0; i + 1 < name.size() && components < most_components; ++i) {
    if (!ends_component(name[i])) continue;
    ++components;
    visit(name.substr(0, i + 1), name.substr(i + 1));
  }
}

/// Returns, for each prefix, how many of the `longer` names become one of the `shorter` without it.
std::map<std::string, std::size_t> counted(const std::vector<std::string>& longer,
                                           const std::vector<std::string>& shorter) {
  const std::set<std::string> wanted(shorter.begin(), shorter.end());
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : longer)
    for_each_prefix(name, [&](const std::string& prefix, const std::string& rest) {
      if (wanted.contains(rest)) ++counts[prefix];
    });
  return counts;
}

std::pair<std::string, std::size_t> commonest(const std::map<std::string, std::size_t>& counts) {
  std::pair<std::string, std::size_t> best;
  for (const auto& [prefix, count] : counts)
    if (count > best.second) best = {prefix, count};
  return best;
}

bool is_any_below(const std::vector<std::string>& names, const std::string& prefix) {
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(prefix); });
}

std::string first_component(const std::string& name) {
  const auto end = std::find_if(name.begin(), name.end(), ends_component);
  return {name.begin(), end == name.end() ? end : end + 1};
}

/// Returns the renaming that adds the prefix: to all names, or, if some already match, to those with the first
/// components of the names to change.
std::string adding(const PrefixChange& change, const std::vector<std::string>& common) {
  if (std::any_of(change.prefix.begin(), change.prefix.end(), begins_pattern)) return {};  // invalid in a new name
  if (common.empty()) return "{x}=" + change.prefix + "{x}";
  std::set<std::string> beginnings;
  for (const auto& [name, wanted] : change.renamed) beginnings.insert(first_component(name));
  if (beginnings.size() > most_renames) return {};
  std::string renames;
  for (const std::string& beginning : beginnings) {
    const std::string capture = ends_component(beginning.back()) ? "{x}" : "";
    if (!capture.empty() && is_any_below(common, beginning)) return {};
    if (std::any_of(beginning.begin(), beginning.end(), begins_pattern)) return {};
    renames += (renames.empty() ? "" : "\n") + beginning + capture + "=" + change.prefix + beginning + capture;
  }
  return renames;
}

/// Returns whether a renamed name collides with one that stays.
bool meets_another(const PrefixChange& change, const std::vector<std::string>& found,
                   const std::vector<std::string>& common) {
  std::set<std::string> beginnings;  // beginnings of the names that get a prefix, unless all do
  for (const auto& [name, wanted] : change.renamed) beginnings.insert(first_component(name));
  std::set<std::string> staying(common.begin(), common.end());
  std::vector<std::string> made;
  for (const std::string& name : found) {
    if (change.is_removed ? !name.starts_with(change.prefix)
                          : !common.empty() && !beginnings.contains(first_component(name)))
      staying.insert(name);
    else
      made.push_back(change.is_removed ? name.substr(change.prefix.size()) : change.prefix + name);
  }
  return std::any_of(made.begin(), made.end(), [&](const auto& name) { return staying.contains(name); });
}

}  // namespace

std::string PrefixChange::text() const {
  const auto& [name, wanted] = renamed.front();
  return "'" + prefix + "' before " + std::to_string(renamed.size()) + (renamed.size() == 1 ? " name" : " names") +
         ", for example " + (is_removed ? name + " for " + wanted : wanted + " for " + name);
}

std::optional<PrefixChange> prefix_change(const std::vector<std::string>& found,
                                          const std::vector<std::string>& missing,
                                          const std::vector<std::string>& common) {
  const auto [removed, with_removed] = commonest(counted(found, missing));
  const auto [added, with_added] = commonest(counted(missing, found));
  PrefixChange change{with_removed >= with_added ? removed : added, with_removed >= with_added, {}, {}};
  const std::size_t count = std::max(with_removed, with_added);
  if (count < 2 || 2 * count < missing.size()) return std::nullopt;
  const std::set<std::string> wanted(missing.begin(), missing.end());
  for (const std::string& name : found) {
    if (change.is_removed && !name.starts_with(change.prefix)) continue;
    std::string other = change.is_removed ? name.substr(change.prefix.size()) : change.prefix + name;
    if (wanted.contains(other)) change.renamed.emplace_back(name, std::move(other));
  }
  std::sort(change.renamed.begin(), change.renamed.end(),
            [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
  if (!change.is_removed)
    change.renames = adding(change, common);
  else if (!is_any_below(common, change.prefix))
    change.renames = literal(change.prefix) + "{x}={x}";
  if (meets_another(change, found, common)) change.renames.clear();
  return change;
}

}  // namespace ckpt
