#include "checkpoint/readable.hpp"

#include <set>
#include <string>

#include "base/text.hpp"

namespace ckpt {

Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected) {
  std::set<std::string> unreadable = unreadable_names(checkpoint.layout(), checkpoint.holdings());
  std::set<std::string> contradicted;
  std::set<std::string> reasons;
  for (const auto& [name, why] : checkpoint.contradictions()) {
    contradicted.insert(name);
    reasons.insert(why.what());
  }
  unreadable.insert(contradicted.begin(), contradicted.end());
  if (unreadable.empty()) return resolve(checkpoint, {}, expected);
  Resolved resolved = resolve(
      checkpoint, [&](const std::string& name) { return !unreadable.contains(name); }, expected);
  if (!contradicted.empty())
    resolved.warnings.push_back("not shown: " + join({contradicted.begin(), contradicted.end()}, 4) + "; " +
                                join({reasons.begin(), reasons.end()}, 3));
  return resolved;
}

}  // namespace ckpt
