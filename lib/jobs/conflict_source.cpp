#include "jobs/conflict_source.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace ckpt {

ConflictSource conflict_source(const Checkpoint& checkpoint, SourceStore& store, const NameChoice& choice,
                               const ExpectedTensors& expected, const std::vector<CastRule>& casts) {
  const auto name_filter = std::make_shared<NameFilter>(choice);
  ConflictSource source{checkpoint, store};
  std::set<std::string> masters;
  if (choice.takes_masters)
    for (const auto& [name, of] : checkpoint.masters())
      if (name_filter->is_kept(name)) masters.insert(of);
  source.keep = [name_filter, masters = std::move(masters)](const std::string& name) {
    return name_filter->is_kept(name) || masters.contains(name);
  };
  if (!choice.mapping)  // whose names the source does not have
    source.expected_shape = [name_filter, &expected](const std::string& name) {
      return expected.shape(name_filter->new_name(name));
    };
  if (!expected) return source;
  source.is_expected = [&checkpoint, &choice, &expected, casts](const Resolved& resolved) {
    Selection selection = select(choice, resolved.placement, checkpoint.masters());
    cast(casts, resolved.placement, selection);
    const CountedNames names(choice, resolved, selection);
    return expected.of(selection, resolved.placement, &names, false).lines.empty();
  };
  return source;
}

}  // namespace ckpt
