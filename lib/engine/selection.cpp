#include "engine/selection.hpp"

#include <algorithm>
#include <utility>

namespace ckpt {

namespace {

PatternIndex index_of(const std::vector<Pattern>& patterns) {
  std::vector<const Pattern*> all;
  for (const Pattern& pattern : patterns) all.push_back(&pattern);
  return PatternIndex(std::move(all));
}

PatternIndex index_of(const std::vector<Rename>& renames) {
  std::vector<const Pattern*> all;
  for (const Rename& rename : renames) all.push_back(&rename.stored);
  return PatternIndex(std::move(all));
}

}  // namespace

Wishes::Wishes(const Job& job)
    : job_(job),
      takes_all_(job.only.empty()),
      only_(index_of(job.only)),
      drop_(index_of(job.drop)),
      rename_(index_of(job.rename)) {}

std::string Wishes::new_name(const std::string& logical_name) const {
  const auto found = rename_.first(logical_name);
  return found ? job_.rename[*found].name.fill(*rename_.pattern(*found).match(logical_name)) : logical_name;
}

Selection select(const Job& job, const Placement& source) {
  struct Chosen {
    Tensor tensor;
    ParameterId from;
  };
  const Wishes wishes(job);
  std::vector<Chosen> chosen;
  chosen.reserve(source.tensors().size());
  for (ParameterId parameter = 0; parameter < source.tensors().size(); ++parameter) {
    Tensor tensor = source.tensors()[parameter];
    if (!wishes.is_kept(tensor.name)) continue;
    tensor.name = wishes.new_name(tensor.name);
    chosen.push_back({std::move(tensor), parameter});
  }
  if (chosen.empty() && (!job.only.empty() || !job.drop.empty()))
    throw Error(Kind::usage, "--only, --drop",
                {"they leave no parameter of " + job.source.string(), "", "see the names with ckpt-inspect"});
  std::sort(chosen.begin(), chosen.end(),
            [](const Chosen& a, const Chosen& b) { return a.tensor.name < b.tensor.name; });
  for (std::size_t i = 1; i < chosen.size(); ++i)
    if (chosen[i].tensor.name == chosen[i - 1].tensor.name)
      throw Error(Kind::usage, "--rename",
                  {"'" + source.tensors()[chosen[i - 1].from].name + "' and '" + source.tensors()[chosen[i].from].name +
                       "' both become '" + chosen[i].tensor.name + "'",
                   "one name for each parameter", ""});
  Selection selection;
  selection.tensors.reserve(chosen.size());
  for (Chosen& each : chosen) {
    selection.tensors.push_back(std::move(each.tensor));
    selection.source_of.push_back(each.from);
  }
  return selection;
}

Layout target_layout(const Job& job, const Layout& source) {
  const TargetChoice& target = job.target;
  if (target.single_file) return single_card();
  if (target.layout) return *target.layout;
  if (!target.cards) return on_mesh(source, target.mesh, source.origin + " with --to-mesh");
  if (source.mesh.axes.size() != 1)
    throw Error(Kind::usage, "--cards",
                {"the mesh of " + source.origin + " has " + std::to_string(source.mesh.axes.size()) + " axes (" +
                     join(source.mesh.axes) + ")",
                 "--cards expects one",
                 "use --to-mesh, for example " + source.mesh.axes.front() + "=" + std::to_string(*target.cards)});
  return on_mesh(source, {{source.mesh.axes.front(), *target.cards}}, source.origin + " with --cards");
}

}  // namespace ckpt
