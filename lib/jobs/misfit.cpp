#include "jobs/misfit.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace ckpt {

MisfitSource misfit_of(const Checkpoint& checkpoint, SourceStore& store, const NameChoice& choice,
                       const ExpectedTensors& expected, const std::vector<CastRule>& casts) {
  const auto wishes = std::make_shared<Wishes>(choice);
  MisfitSource source{checkpoint, store};
  std::set<std::string> masters;
  if (choice.takes_masters)
    for (const auto& [name, of] : checkpoint.masters())
      if (wishes->is_kept(name)) masters.insert(of);
  source.keep = [wishes, masters = std::move(masters)](const std::string& name) {
    return wishes->is_kept(name) || masters.contains(name);
  };
  source.expected_shape = [wishes, &expected](const std::string& name) {
    return expected.shape(wishes->new_name(name));
  };
  if (!expected) return source;
  source.is_expected = [&choice, &expected, casts](const Resolved& resolved) {
    Selection selection = select(choice, resolved.placement);
    cast(casts, resolved.placement, selection);
    const CountedNames names(choice, resolved, selection);
    return expected.of(selection, resolved.placement, &names, false).lines.empty();
  };
  return source;
}

}  // namespace ckpt
