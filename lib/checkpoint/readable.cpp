#include "checkpoint/readable.hpp"

#include <set>
#include <string>

namespace ckpt {

Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected) {
  const std::set<std::string> unreadable = unreadable_names(checkpoint.layout(), checkpoint.holdings());
  if (unreadable.empty()) return resolve(checkpoint, {}, expected);
  return resolve(
      checkpoint, [&](const std::string& name) { return !unreadable.contains(name); }, expected);
}

}  // namespace ckpt
