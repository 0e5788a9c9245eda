#include "checkpoint/first_copies.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/naming.hpp"

namespace ckpt {

namespace {

/// The parameters' names in the form that rules use.
std::set<std::string> names_held(const Naming& naming, const std::vector<Holding>& holdings) {
  std::set<std::string> names;
  for (const Holding& holding : holdings)
    for (const StoredArray& array : *holding) names.insert(naming.renamed(array.name));
  return names;
}

}  // namespace

Layout with_first_copies(Layout layout, const std::vector<Holding>& holdings, const std::vector<Pattern>& names) {
  const Naming naming(layout);
  std::vector<bool> has_matched(names.size(), false);
  std::vector<Rule> rules;
  std::set<std::size_t> parted;  // rules from which some names have moved to their own rule
  std::set<std::size_t> in_use;
  for (const std::string& name : names_held(naming, holdings)) {
    const auto decision = naming.decide(name);
    if (!decision) continue;
    bool is_meant = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].matches(name)) is_meant = has_matched[i] = true;
    (is_meant ? parted : in_use).insert(decision->rules.begin(), decision->rules.end());
    if (!is_meant) continue;
    Rule rule;
    rule.names.emplace_back(literal(name));
    rule.keys = decision->keys;
    rule.keys.replicas = Replicas::first;
    rules.push_back(std::move(rule));
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!has_matched[i])
      log::warn("no parameter has a name that matches '{}': no copies of any may differ for it", names[i].text());
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    Rule& rule = layout.parameters[i];
    if (parted.contains(i) && !in_use.contains(i)) continue;
    if (parted.contains(i))  // a pattern whose name has its own rule now would match nothing
      std::erase_if(rule.names, [&](const Pattern& pattern) {
        return pattern.is_plain() && std::any_of(rules.begin(), rules.end(), [&](const Rule& own) {
                 return own.names.front().text() == pattern.text();
               });
      });
    rules.push_back(std::move(rule));
  }
  layout.parameters = std::move(rules);
  return layout;
}

}  // namespace ckpt
