#include "jobs/tree_names.hpp"

#include "store/dcp/path_tree.hpp"

namespace ckpt {

std::optional<std::vector<std::string>> names_in_tree(const Checkpoint& checkpoint, const Placement& source,
                                                      const Selection& selection) {
  const std::map<std::string, std::string>& in_tree = checkpoint.tree_names();
  if (in_tree.empty()) return std::nullopt;
  std::vector<std::string> names;
  names.reserve(selection.tensors.size());
  for (std::size_t i = 0; i < selection.tensors.size(); ++i) {
    const std::string& name = selection.tensors[i].name;
    const std::string& before = source.tensors()[selection.source_of[i]].name;
    const auto found = in_tree.find(before);
    const std::string path = found == in_tree.end() ? "" : found->second;
    names.push_back(path.empty()     ? name
                    : name == before ? path
                                     : torch::tree_name(torch::renamed_path(name, torch::dcp_path(path))));
  }
  return names;
}

NamesInOther::NamesInOther(const Checkpoint& a, const Checkpoint& b, const Placement& placement_of_b)
    : b_(placement_of_b), in_tree_of_a_(a.tree_names()) {
  for (const auto& [name, in_tree] : b.tree_names()) of_tree_of_b_.emplace(in_tree, name);
}

std::optional<ParameterId> NamesInOther::find(const std::string& name) const {
  if (const auto same = b_.find(name)) return same;
  if (const auto in_tree = in_tree_of_a_.find(name); in_tree != in_tree_of_a_.end()) return b_.find(in_tree->second);
  const auto own = of_tree_of_b_.find(name);
  return own == of_tree_of_b_.end() ? std::nullopt : b_.find(own->second);
}

}  // namespace ckpt
