#include "store/torch/tree_edit.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle_fields.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/leaf.hpp"

namespace ckpt::torch {

namespace {

std::optional<std::uint64_t> whole_number(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_canonical = error == std::errc() && end == text.data() + text.size() && std::to_string(number) == text;
  return is_canonical ? std::optional(number) : std::nullopt;
}

bool is_list(const PickleNode& node) {
  return node.kind == PickleKind::list || node.kind == PickleKind::tuple ||
         (node.kind == PickleKind::call && !node.has_pairs && !node.items.empty());
}

/// Returns whether tensors may be put into a container that is a value: it is empty, or has only None from removed
/// tensors.
bool is_open(const Pickle& tree, PickleId container) {
  const PickleNode& node = tree[container];
  return node.items.empty() ||
         (is_list(node) && std::ranges::all_of(node.items, [&](PickleId item) { return is_none(tree, item); }));
}

}  // namespace

TreeEdit::TreeEdit(Pickle& tree, const NameSet& tensors) : tree_(tree), tensors_(tensors) {
  const bool is_whole = tree.root() != no_node && carried_name(tree, tree.root()).has_value();
  if (is_whole && tensors.size() == 1 && tensors.contains(*carried_name(tree, tree.root()))) {
    found_.emplace(*tensors.begin());
    return;
  }
  if (is_whole || tree.root() == no_node || !is_container(tree, tree.root()))
    tree.set_root(tree.add(node_of(PickleKind::dict)));
  keep("", tree.root(), 0);
}

/// Returns whether anything of a node is kept, and records its name.
bool TreeEdit::keep(const std::string& name, PickleId id, int level) {
  bounds_.check_level(level);
  bounds_.visit(tree_[id], name);
  if (const auto tensor = carried_name(tree_, id)) {
    if (!tensors_.contains(*tensor)) return false;
    found_.emplace(*tensor);
    return true;
  }
  const bool is_leaf = level > 0 && (!is_container(tree_, id) || is_long_list(tree_, id) || leaf_value(tree_, id));
  if (is_leaf) {
    values_.insert(name);
    if (is_container(tree_, id) && is_open(tree_, id)) containers_.emplace(name, id);
    return true;
  }
  const bool was_empty = tree_[id].items.empty();
  keep_items(name, id, level);
  if (tree_[id].items.empty() && !was_empty && level > 0) return false;
  containers_.emplace(name, id);
  return true;
}

/// Removed items of a list become None, since the indices of the others are their names; and None in a list is a free
/// place.
void TreeEdit::keep_items(const std::string& path, PickleId container, int level) {
  std::vector<PickleId> items;
  for (const Branch& branch : branches_of(tree_, container)) {
    if (branch.key_node == no_node && is_none(tree_, branch.value)) {
      items.push_back(branch.value);
      continue;
    }
    const bool stays = keep(name_below(path, branch.key), branch.value, level + 1);
    if (branch.key_node == no_node) {
      items.push_back(stays ? branch.value : tree_.add({}));
    } else if (stays) {
      items.push_back(branch.key_node);
      items.push_back(branch.value);
    }
  }
  tree_.change(container).items = std::move(items);
}

/// Returns the container of the longest prefix of a name, and sets `below` to the start of the rest.
PickleId TreeEdit::deepest(const std::string& name, std::size_t& below) const {
  for (std::size_t end = name.rfind('/'); end != std::string::npos && end > 0; end = name.rfind('/', end - 1))
    if (const auto found = containers_.find(name.substr(0, end)); found != containers_.end()) {
      below = end + 1;
      return found->second;
    }
  below = 0;
  return tree_.root();
}

void TreeEdit::put(const std::string& name, PickleId value) {
  if (has(name))
    throw Error(
        Kind::input, "/" + name,
        {"a tensor of one file that is another value in another", "one of them", "", {Advice::What::rename, ""}});
  std::size_t below = 0;
  PickleId container = deepest(name, below);
  std::string path = name.substr(0, below > 0 ? below - 1 : 0);
  for (std::size_t end = name.find('/', below); end != std::string::npos; end = name.find('/', below)) {
    std::string next = name.substr(0, end);
    if (tensors_.contains(next) || values_.contains(next)) break;  // not a container: the rest of the name is one key
    const PickleId dict = tree_.add(node_of(PickleKind::dict));
    put_into(container, path, name.substr(below, end - below), dict);
    containers_.emplace(next, dict);
    container = dict;
    path = std::move(next);
    below = end + 1;
  }
  put_into(container, path, name.substr(below), value);
  values_.insert(name);
}

void TreeEdit::put_into(PickleId container, const std::string& path, const std::string& key, PickleId value) {
  if (is_list(tree_[container])) return put_into_list(container, path, key, value);
  const auto number = has_numbers_as_keys(container) ? whole_number(key) : std::nullopt;
  const PickleId key_node = number ? add_integer(tree_, static_cast<std::int64_t>(*number)) : add_text(tree_, key);
  PickleNode& dict = tree_.change(container);
  dict.has_pairs = true;
  dict.items.push_back(key_node);
  dict.items.push_back(value);
}

void TreeEdit::put_into_list(PickleId list, const std::string& path, const std::string& key, PickleId value) {
  const auto place = whole_number(key);
  const std::size_t size = tree_[list].items.size();
  if (!place || *place > size + most_open_items)
    throw Error(Kind::input, "/" + name_below(path, key),
                {"its place is in a list of " + std::to_string(size),
                 "a number for its name there",
                 "",
                 {Advice::What::rename, ""}});
  while (tree_[list].items.size() <= *place) {
    const PickleId nothing = tree_.add({});
    tree_.change(list).items.push_back(nothing);
  }
  tree_.change(list).items[*place] = value;
}

/// Returns whether a dict has numbers as keys, such as those of an optimizer's state.
bool TreeEdit::has_numbers_as_keys(PickleId dict) {
  const auto [known, is_new] = has_numbers_as_keys_.try_emplace(dict, false);
  if (is_new) {
    const std::vector<PickleId>& items = tree_[dict].items;
    known->second = !items.empty();
    for (std::size_t i = 0; i < items.size(); i += 2)
      if (tree_[items[i]].kind != PickleKind::integer) known->second = false;
  }
  return known->second;
}

}  // namespace ckpt::torch
