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

NamesInOther::NamesInOther(const Checkpoint& a, const DirectoryIndex* index_of_a, const Checkpoint& b,
                           const DirectoryIndex* index_of_b, const Placement& placement_of_b)
    : b_(placement_of_b), in_tree_of_a_(a.tree_names()), index_of_b_(index_of_b) {
  for (const auto& [name, in_tree] : b.tree_names()) of_tree_of_b_.emplace(in_tree, name);
  if (index_of_a == nullptr) return;
  for (ParameterId parameter = 0; parameter < b_.tensors().size(); ++parameter)
    spelled_by_a_.emplace(index_of_a->tensor_name(b_.tensors()[parameter].name), parameter);
}

std::optional<ParameterId> NamesInOther::find(const std::string& name) const {
  if (const auto same = b_.find(name)) return same;
  if (const auto in_tree = in_tree_of_a_.find(name); in_tree != in_tree_of_a_.end()) return b_.find(in_tree->second);
  if (const auto own = of_tree_of_b_.find(name); own != of_tree_of_b_.end()) return b_.find(own->second);
  if (const auto spelled = spelled_by_a_.find(name); spelled != spelled_by_a_.end()) return spelled->second;
  return index_of_b_ == nullptr ? std::nullopt : b_.find(index_of_b_->tensor_name(name));
}

}  // namespace ckpt
