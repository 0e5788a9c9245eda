#include "store/dcp/path_tree.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/carried_tree.hpp"

namespace ckpt::torch {

namespace {

class Unfolding {
 public:
  Unfolding(Pickle& tree, const NameSet& tensors, std::size_t values)
      : tree_(tree),
        tensors_(tensors),
        items_left_(values + most_open_items),
        nothing_(tree.add({})),
        root_(tree.add(node_of(PickleKind::dict))) {}

  void add(const DcpPath& path, PickleId value) {
    const auto tensor = carried_name(tree_, value);
    if (!tensor) return put(path, is_container(tree_, value) && holds_bytes(value) ? closed(value) : value);
    const std::string by_path = tree_name(path);
    if (tensors_.contains(by_path))
      put(path, add_tensor(tree_, by_path));
    else if (tensors_.contains(*tensor))
      put({{std::string(*tensor)}}, value);
  }

  PickleId root() const noexcept { return root_; }

 private:
  struct Child {
    PickleId id = no_node;
    bool is_made = false;  ///< a dict or list created on the path to others
  };

  /// Returns whether an object contains tensors.
  bool holds_bytes(PickleId object) const {
    std::unordered_set<PickleId> seen;
    for (std::vector<PickleId> to_visit{object}; !to_visit.empty();) {
      const PickleId id = to_visit.back();
      to_visit.pop_back();
      if (id == no_node || !seen.insert(id).second) continue;
      const PickleNode& node = tree_[id];
      if (node.kind == PickleKind::persistent) return true;
      to_visit.insert(to_visit.end(), node.items.begin(), node.items.end());
      to_visit.insert(to_visit.end(), {node.arguments, node.state});
    }
    return false;
  }

  /// Wraps an object in copy.copy(object): in a file, the tensors in a tuple would get names that they do not have in
  /// the directory.
  PickleId closed(PickleId object) {
    PickleNode function = node_of(PickleKind::global);
    function.text = "copy.copy";
    function.number = 4;  // length of the module's name
    PickleNode arguments = node_of(PickleKind::tuple);
    arguments.items = {object};
    PickleNode reduced = node_of(PickleKind::call, 'R');
    reduced.function = tree_.add(std::move(function));
    reduced.arguments = tree_.add(std::move(arguments));
    return tree_.add(std::move(reduced));
  }

  void put(const DcpPath& path, PickleId value) {
    PickleId container = root_;
    for (std::size_t level = 0; level + 1 < path.size(); ++level)
      container = below(container, path, level, path[level + 1].is_place);
    if (!children_.try_emplace({container, path.back().text}, Child{value, false}).second) refuse(path);
    insert(container, path, path.size() - 1, value);
  }

  PickleId below(PickleId container, const DcpPath& path, std::size_t level, bool is_list) {
    const auto [known, is_new] = children_.try_emplace({container, path[level].text});
    if (is_new) {
      known->second = {tree_.add(node_of(is_list ? PickleKind::list : PickleKind::dict)), true};
      insert(container, path, level, known->second.id);
    }
    const bool fits = known->second.is_made && (tree_[known->second.id].kind == PickleKind::list) == is_list;
    if (!fits) refuse(path);
    return known->second.id;
  }

  void insert(PickleId container, const DcpPath& path, std::size_t level, PickleId value) {
    const DcpKey& key = path[level];
    if (tree_[container].kind == PickleKind::list) return insert_in_list(container, path, key.text, value);
    const PickleId key_node = add_text(tree_, key.text);
    PickleNode& dict = tree_.change(container);
    dict.has_pairs = true;
    dict.items.push_back(key_node);
    dict.items.push_back(value);
  }

  /// Paths come in the order of names, in which 10 precedes 2: a missing item is None until it comes.
  void insert_in_list(PickleId list, const DcpPath& path, const std::string& key, PickleId value) {
    std::vector<PickleId>& items = tree_.change(list).items;
    std::size_t place = 0;
    const char* const end = key.data() + key.size();
    const bool is_place = std::from_chars(key.data(), end, place).ptr == end;
    if (!is_place || place >= items.size() + items_left_)
      throw Error(Kind::input, "/" + tree_name(path),
                  {"item " + key + " of a list, of which " + std::to_string(items.size()) + " items are known",
                   "places that follow one another", "is the .metadata damaged?", leaving_out({tree_name(path)})});
    if (place >= items.size()) {
      items_left_ -= place + 1 - items.size();
      items.resize(place + 1, nothing_);
    }
    items[place] = value;
  }

  [[noreturn]] static void refuse(const DcpPath& path) {
    throw Error(Kind::input, "/" + tree_name(path),
                {"a value, where others have a dict or a list, stands on its path",
                 "paths of which none leads through another's end", "", leaving_out({tree_name(path)})});
  }

  Pickle& tree_;
  const NameSet& tensors_;
  std::size_t items_left_;  // that lists may still get
  PickleId nothing_;
  PickleId root_;
  std::map<std::pair<PickleId, std::string>, Child> children_;  // by container and key
};

}  // namespace

std::string dcp_name(const DcpPath& path) {
  std::string name;
  for (const DcpKey& key : path) name += (name.empty() ? "" : ".") + key.text;
  return name;
}

std::string tree_name(const DcpPath& path) {
  std::string name;
  for (const DcpKey& key : path) name = name_below(name, key.text);
  return name;
}

DcpPath dcp_path(const std::string& name) {
  DcpPath path;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    path.push_back({name.substr(begin, end - begin)});
    begin = end + 1;
  }
  return path;
}

DcpPath renamed_path(const std::string& whole, const DcpPath& old) {
  std::string name = whole;
  DcpPath path;
  while (path.size() < old.size() && !name.empty()) {
    const DcpKey& key = old[old.size() - 1 - path.size()];
    const bool is_all = name == key.text;
    if (!is_all && !name.ends_with("." + key.text)) break;
    name.resize(name.size() - key.text.size() - (is_all ? 0 : 1));
    path.push_back(key);
  }
  if (old.size() == 1 || path.empty()) return {{whole}};
  if (!name.empty()) path.push_back({name});
  path.back().is_place = false;
  std::reverse(path.begin(), path.end());
  return path;
}

void write_path(PickleWriter& out, const DcpPath& path) {
  out.opcode(op::mark);
  for (const DcpKey& key : path)
    if (key.is_place)
      out.integer(std::stoll(key.text));
    else
      out.word(key.text);
  out.opcode(op::tuple);
}

DcpPath path_of(const Pickle& tree, PickleId tuple) {
  DcpPath path;
  for (const PickleId id : tree[tuple].items) {
    const PickleNode& key = tree[id];
    const bool is_place = key.kind == PickleKind::integer;
    path.push_back({is_place ? std::to_string(key.number) : std::string(key.text), is_place});
  }
  return path;
}

std::vector<PickleId> behind_paths(const Pickle& tree) {
  if (tree.root() == no_node || tree[tree.root()].kind != PickleKind::persistent) return {};
  const std::vector<PickleId>& items = tree[tree[tree.root()].arguments].items;
  if (items.size() < 2 || tree[items[0]].text != carried_paths) return {};
  return {items.begin() + 1, items.end()};
}

void unfold_paths(Pickle& tree, const NameSet& tensors) {
  const std::vector<PickleId> behind = behind_paths(tree);
  if (behind.empty()) return;
  const std::vector<PickleId> pairs = tree[behind[0]].items;
  Unfolding unfolding(tree, tensors, pairs.size());
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const DcpPath path = path_of(tree, pairs[i]);
    if (!path.empty()) unfolding.add(path, pairs[i + 1]);
  }
  tree.set_root(unfolding.root());
}

}  // namespace ckpt::torch
