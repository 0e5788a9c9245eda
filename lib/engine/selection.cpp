#include "engine/selection.hpp"

#include <algorithm>

namespace ckpt {

namespace {

bool matches_any(const std::vector<Pattern>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) { return pattern.matches(name); });
}

}  // namespace

bool is_kept(const Job& job, const std::string& logical_name) {
  return (job.only.empty() || matches_any(job.only, logical_name)) && !matches_any(job.drop, logical_name);
}

std::string new_name(const Job& job, const std::string& logical_name) {
  for (const Rename& rename : job.rename)
    if (const auto captures = rename.stored.match(logical_name)) return rename.name.fill(*captures);
  return logical_name;
}

Selection select(const Job& job, const Placement& source) {
  struct Chosen {
    Tensor tensor;
    ParameterId from;
  };
  std::vector<Chosen> chosen;
  chosen.reserve(source.tensors().size());
  for (ParameterId parameter = 0; parameter < source.tensors().size(); ++parameter) {
    Tensor tensor = source.tensors()[parameter];
    if (!is_kept(job, tensor.name)) continue;
    tensor.name = new_name(job, tensor.name);
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
