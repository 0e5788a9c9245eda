#include "store/dcp/dcp_parts.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/held_value.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/leaf.hpp"

namespace ckpt::torch {

namespace {

class TreeCutter {
 public:
  explicit TreeCutter(const Pickle& tree) : tree_(tree) {}

  DcpParts cut() {
    if (tree_.root() == no_node) return {};
    const std::vector<PickleId> behind = behind_paths(tree_);
    if (behind.empty()) {
      enter(tree_.root(), {});
      return std::move(parts_);
    }
    const std::vector<PickleId>& pairs = tree_[behind[0]].items;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) add(pairs[i + 1], path_of(tree_, pairs[i]));
    if (behind.size() > 1) check_runs_nothing(behind[1]);
    if (behind.size() > 1) parts_.mcore_data = write_object(tree_, behind[1]).pickle;
    return std::move(parts_);
  }

 private:
  /// Unlike the objects, which are items of their own, this data is unpickled by everyone who opens the directory.
  void check_runs_nothing(PickleId data) const {
    std::vector<bool> is_seen(tree_.nodes().size(), false);
    for (std::vector<PickleId> to_visit{data}; !to_visit.empty();) {
      const PickleId id = to_visit.back();
      to_visit.pop_back();
      if (is_seen[id]) continue;
      is_seen[id] = true;
      const PickleNode& node = tree_[id];
      const bool is_list = node.kind == PickleKind::tuple || node.kind == PickleKind::list;
      if (node.kind > PickleKind::text && node.kind != PickleKind::dict && !is_list)
        throw Error(Kind::input, "mcore_data of .metadata",
                    {"found " + describe(tree_, id), "numbers, texts, and dicts and lists of them",
                     "write another format, or save it with another version of Megatron"});
      to_visit.insert(to_visit.end(), node.items.begin(), node.items.end());
    }
  }

  void add(PickleId id, DcpPath path) {
    if (const auto tensor = carried_name(tree_, id))
      parts_.tensors.push_back({std::string(*tensor), std::move(path)});
    else
      add_object(id, std::move(path));
  }

  void add_object(PickleId id, DcpPath path) { parts_.objects.push_back({std::move(path), write_object(tree_, id)}); }

  void enter(PickleId id, const DcpPath& path) {
    bounds_.check_level(static_cast<int>(path.size()));
    bounds_.visit(tree_[id], "");
    if (const auto tensor = carried_name(tree_, id)) {
      parts_.tensors.push_back(
          {dcp_name(dcp_path(std::string(*tensor))), path.empty() ? DcpPath{{lone_tensor}} : path});
      return;
    }
    const auto branches = is_entered(id) ? branches_of(tree_, id) : std::vector<Branch>{};
    if (branches.empty() && !(path.empty() && is_container(tree_, id)))
      return add_object(id, path.empty() ? DcpPath{{lone_object}} : path);
    for (const Branch& branch : branches) {
      DcpPath below = path;
      below.push_back({branch.key, branch.key_node == no_node});
      enter(branch.value, below);
    }
  }

  bool is_entered(PickleId id) const { return is_container(tree_, id) && (is_dict(id) || holds_tensor(id, 0)); }

  bool is_dict(PickleId id) const {
    return tree_[id].kind == PickleKind::dict || tree_[id].has_pairs || tree_.name_of(id) == ordered_dict;
  }

  bool holds_tensor(PickleId id, int level) const {
    if (carried_name(tree_, id)) return true;
    if (level > most_levels || !is_container(tree_, id) || is_long_list(tree_, id)) return false;
    const auto branches = branches_of(tree_, id);
    return std::any_of(branches.begin(), branches.end(),
                       [&](const Branch& branch) { return holds_tensor(branch.value, level + 1); });
  }

  const Pickle& tree_;
  DcpParts parts_;
  TreeBounds bounds_;
};

/// Calls work(path, value) for each attribute of the root, and of groups.
template <typename Work>
void for_each_attribute(const FileSpec& spec, const Work& work) {
  const auto all = [&](const DcpPath& above, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      DcpPath path = above;
      path.push_back({attribute.name});
      work(std::move(path), attribute.value);
    }
  };
  all({}, spec.attributes);
  for (const Group& group : spec.groups) all(dcp_path(group.path), group.attributes);
}

std::set<std::string> tensor_names(const FileSpec& spec) {
  std::set<std::string> names;
  for (const FileSpec::Array& array : spec.arrays) names.insert(array.name);
  return names;
}

}  // namespace

void refuse_twice(const std::string& name) {
  throw Error(Kind::input, "/" + name,
              {"two values would have this name", "one, as the parts of a name are joined by dots",
               "leave one out with --drop, or rename it"});
}

DcpParts dcp_parts(const FileSpec& spec) {
  std::size_t at = 0;
  auto tree = spec.tree ? Pickle::read(*spec.tree, at) : Pickle();
  if (!tree) throw Error(Kind::input, "its tree", {"ends before its object does", "a whole one", ""});
  DcpParts parts = TreeCutter(*tree).cut();
  std::set<std::string> of_tree;
  for (const DcpParts::Object& object : parts.objects) of_tree.insert(dcp_name(object.path));
  // A list whose items are separate attributes in a catalog is a single object in the tree.
  const auto is_of_tree = [&](const DcpPath& path) {
    DcpPath above;
    return std::any_of(path.begin(), path.end(), [&](const DcpKey& key) {
      above.push_back(key);
      return of_tree.contains(dcp_name(above));
    });
  };
  for_each_attribute(spec, [&](DcpPath path, const Value& value) {
    if (!is_held(value) || is_of_tree(path)) return;
    Pickle pickle;
    pickle.set_root(add_value(pickle, value));
    parts.objects.push_back({std::move(path), write_object(pickle, pickle.root())});
  });
  std::set<std::string> names = tensor_names(spec);
  for (const DcpParts::Object& object : parts.objects)
    if (std::string name = dcp_name(object.path); !names.insert(name).second) refuse_twice(name);
  return parts;
}

std::vector<std::string> dcp_losses(const FileSpec& spec) {
  std::vector<std::string> lost;
  std::set<std::string> names = tensor_names(spec);
  for_each_attribute(spec, [&](const DcpPath& path, const Value& value) {
    std::string name = dcp_name(path);
    if (!is_held(value)) return lost.push_back("attribute " + name + ", which is no number, text, or list of them");
    if (!names.insert(name).second) refuse_twice(name);
  });
  for (const FileSpec::Array& array : spec.arrays) checked_type(array);
  if (auto attributes = lost_attributes_of_arrays(spec); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

}  // namespace ckpt::torch
