#include "layout/names/rule_name.hpp"

#include "base/text.hpp"

namespace ckpt {

std::string patterns_of(const Rule& rule, std::size_t most) {
  // A rule of a directory's own description may have a name for each of 100,000 tensors.
  return join(
      rule.names.size(), [&](std::size_t i) { return rule.names[i].text(); }, most);
}

std::string rule_name(const Layout& layout, std::size_t rule) {
  const Rule& named = layout.parameters[rule];
  return "rule \"" + patterns_of(named) + "\"" +
         (named.names.size() == 1 ? "" : " at /parameters/" + std::to_string(rule));
}

}  // namespace ckpt
