#include "layout/names/rule_name.hpp"

#include <vector>

#include "base/text.hpp"

namespace ckpt {

std::string patterns_of(const Rule& rule, std::size_t most) {
  std::vector<std::string> patterns;
  for (const Pattern& pattern : rule.names) patterns.push_back(pattern.text());
  return join(patterns, most);
}

std::string rule_name(const Layout& layout, std::size_t rule) {
  const Rule& named = layout.parameters[rule];
  return "rule \"" + patterns_of(named) + "\"" +
         (named.names.size() == 1 ? "" : " at /parameters/" + std::to_string(rule));
}

}  // namespace ckpt
