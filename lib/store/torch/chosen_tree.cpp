#include "store/torch/chosen_tree.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/leaf.hpp"

namespace ckpt::torch {

namespace {

std::optional<std::size_t> place_in_list(const std::string& text) {
  std::size_t place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  const bool is_place = error == std::errc() && end == text.data() + text.size() && std::to_string(place) == text;
  return is_place ? std::optional(place) : std::nullopt;
}

/// A step from a container to one of its items.
struct Step {
  PickleId container = no_node;  ///< no_node: a new container
  std::string key;
  PickleId key_node = no_node;  ///< no_node in a list, and in a new container
  bool is_renamed = false;      ///< the new key differs from `key_node`
};
using Steps = std::vector<Step>;

/// Returns the steps to a new name. As far as it ends with the same keys as the old one, it keeps the old steps; the
/// keys before them are new, in the containers at the same depth above the end.
Steps steps_to(std::string name, const Steps& old) {
  std::size_t kept = 0;  // number of steps, counted from the end
  while (kept < old.size() && !name.empty()) {
    const std::string& key = old[old.size() - 1 - kept].key;
    const bool is_all = name == key;
    if (!is_all && !name.ends_with("/" + key)) break;
    name.resize(name.size() - key.size() - (is_all ? 0 : 1));
    ++kept;
  }
  std::vector<std::string> keys;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    keys.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  Steps steps(keys.size() + kept);
  for (std::size_t from_end = 0; from_end < steps.size(); ++from_end) {
    Step& step = steps[steps.size() - 1 - from_end];
    if (from_end < old.size()) step = old[old.size() - 1 - from_end];
    if (from_end < kept) continue;
    step.key = std::move(keys[steps.size() - 1 - from_end]);
    step.is_renamed = true;
  }
  return steps;
}

/// All parts in one pickle, and the tree that is built from them.
class TreeChoice {
 public:
  explicit TreeChoice(const std::vector<TreePart>& parts) {
    for (const TreePart& part : parts) take(part);
  }

  std::string take() {
    if (lone_ == no_node) lone_ = built(root_, "");
    PickleWriter out(std::max(tree_.protocol(), 2U));
    PickleCopy(tree_, out, [](PickleId) { return false; }).node(lone_);
    return out.take();
  }

 private:
  /// A container that is built, or a value.
  struct Branches {
    PickleId like = no_node;  ///< the container whose form it takes; no_node: a dict
    bool is_where_it_was = false;
    PickleId value = no_node;  ///< no_node for a container
    std::vector<Branches*> items = {};
    Step step = {};                                                   ///< the step that leads to it
    std::map<std::pair<std::string, bool>, std::size_t> places = {};  ///< index of each item by its key, and by whether
                                                                      ///< that is a number
  };

  void take(const TreePart& part) {
    std::size_t at = 0;
    auto read = Pickle::read(part.tree, at);
    if (!read) throw Error(Kind::input, "its tree", {"ends before its object does", "a whole one", ""});
    pickles_.push_back(std::move(*read));
    const PickleId root = tree_.append(pickles_.back());
    if (pickles_.size() > 1) disambiguate_storages();
    new_name_ = &part.new_name;
    if (root != no_node && !take_paths(root)) walk("", root, {});
  }

  /// Adds the part's number to the keys in ("bytes", type, key, elements, bytes), which each tree numbers on its own.
  void disambiguate_storages() {
    const auto end = static_cast<PickleId>(tree_.nodes().size());
    for (auto id = static_cast<PickleId>(end - pickles_.back().nodes().size()); id < end; ++id) {
      if (tree_[id].kind != PickleKind::persistent) continue;
      const PickleId arguments = tree_[id].arguments;
      const auto& items = tree_[arguments].items;
      if (items.size() != carried_bytes_items || tree_[items[0]].text != carried_bytes) continue;
      const std::string key = std::to_string(pickles_.size()) + "/" + std::string(tree_[items[2]].text);
      const PickleId other = add_text(tree_, key);
      tree_.change(arguments).items[2] = other;
    }
  }

  /// Takes the tree of a DCP directory, which consists of paths. Returns false for other trees.
  bool take_paths(PickleId root) {
    tree_.set_root(root);
    const auto behind = behind_paths(tree_);
    if (behind.empty()) return false;
    const std::vector<PickleId> pairs = tree_[behind[0]].items;
    std::vector<PickleId> taken;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const DcpPath path = path_of(tree_, pairs[i]);
      const auto tensor = carried_name(tree_, pairs[i + 1]);
      const std::string name = tensor ? std::string(*tensor) : dcp_name(path);
      const auto other = (*new_name_)(name, tensor.has_value());
      if (!other) continue;
      const bool is_same = *other == name || path.empty();
      taken.push_back(is_same ? pairs[i] : add_path(renamed_path(*other, path)));
      taken.push_back(is_same || !tensor ? pairs[i + 1] : add_tensor(tree_, *other));
    }
    tree_.change(behind[0]).items = std::move(taken);
    lone_ = root;
    return true;
  }

  PickleId add_path(const DcpPath& path) {
    PickleNode tuple = node_of(PickleKind::tuple);
    for (const DcpKey& key : path)
      tuple.items.push_back(key.is_place ? add_integer(tree_, std::stoll(key.text)) : add_text(tree_, key.text));
    return tree_.add(std::move(tuple));
  }

  /// Walks in the order, and by the rules, by which the tree was read, so that a name means the same value.
  void walk(const std::string& name, PickleId id, const Steps& steps) {
    bounds_.check_level(static_cast<int>(steps.size()));
    bounds_.visit(tree_[id], name);
    if (const auto tensor = carried_name(tree_, id)) return take_tensor(std::string(*tensor), id, steps);
    const auto branches = is_entered(id, steps.empty()) ? branches_of(tree_, id) : std::vector<Branch>();
    if (branches.empty() && steps.empty() && is_container(tree_, id)) {
      if (root_.like == no_node) root_.like = id;
      return;
    }
    if (branches.empty()) return take_value(steps.empty() ? lone_object : name, id, steps);
    for (const Branch& branch : branches) {
      Steps below = steps;
      below.push_back({id, branch.key, branch.key_node});
      walk(name_below(name, branch.key), branch.value, below);
    }
  }

  bool is_entered(PickleId id, bool is_root) const {
    return is_container(tree_, id) && (is_root || (!is_long_list(tree_, id) && !leaf_value(tree_, id)));
  }

  void take_tensor(const std::string& name, PickleId id, const Steps& steps) {
    const auto other = (*new_name_)(name, true);
    if (!other) return;
    if (*other != name) rename_tensor(id, *other);
    put(*other, name, steps, id);
  }

  void take_value(const std::string& name, PickleId id, const Steps& steps) {
    if (const auto other = (*new_name_)(name, false)) put(*other, name, steps, id);
  }

  /// Renames the ("tensor", name, ...) inside the calls around it.
  void rename_tensor(PickleId id, const std::string& name) {
    while (tree_[id].kind == PickleKind::call) {
      const auto& arguments = tree_[tree_[id].arguments].items;
      id = arguments[tree_.name_of(id) == typed_tensor_function ? 2 : 0];
    }
    const PickleId text = add_text(tree_, name);
    tree_.change(tree_[id].arguments).items[1] = text;
  }

  void put(const std::string& name, const std::string& old, const Steps& old_steps, PickleId value) {
    const bool is_same = name == old;
    if (is_same && old_steps.empty()) {
      lone_ = value;
      return;
    }
    const Steps steps = is_same ? old_steps : steps_to(name, old_steps);
    Branches* container = &root_;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (container->value != no_node) refuse(name);
      shape(*container, steps[i], is_same);
      container = &item_of(*container, steps[i], i + 1 == steps.size() ? name : "");
    }
    container->value = value;
  }

  void shape(Branches& container, const Step& step, bool is_where_it_was) {
    if (step.container == no_node || (container.like != no_node && (container.is_where_it_was || !is_where_it_was)))
      return;
    container.like = step.container;
    container.is_where_it_was = is_where_it_was;
  }

  /// `name`: the name of a value, which must be the only one; empty for a container.
  Branches& item_of(Branches& container, const Step& step, const std::string& name) {
    const auto [known, is_new] = container.places.try_emplace({step.key, is_number(step)}, container.items.size());
    if (!is_new && !name.empty()) refuse(name);
    if (is_new) {
      Branches& made = all_.emplace_back();
      made.step = step;
      container.items.push_back(&made);
    }
    return *container.items[known->second];
  }

  [[noreturn]] static void refuse(const std::string& name) {
    throw Error(
        Kind::usage, "/" + name,
        {"two values get this name, or one that leads through it", "a name for each", "", {Advice::What::rename, ""}});
  }

  PickleId built(Branches& branches, const std::string& path) {
    if (branches.value != no_node) return branches.value;
    PickleNode node = branches.like == no_node ? node_of(PickleKind::dict) : tree_[branches.like];
    const bool was_list = branches.like != no_node && is_of_items(branches.like);
    const bool is_list = was_list && fit_in_list(branches, path);
    if (was_list && !is_list) node = node_of(PickleKind::dict);
    const std::size_t places = is_list ? tree_[branches.like].items.size() : 0;
    node.items.clear();
    node.has_pairs = !is_list;
    if (node.kind == PickleKind::call && tree_.name_of(branches.like) == ordered_dict)
      node.arguments = tree_.add(node_of(PickleKind::tuple));  // the old arguments may have been its pairs
    if (is_list) node.items.assign(places, tree_.add({}));
    for (Branches* item : branches.items) {
      const PickleId value = built(*item, name_below(path, item->step.key));
      if (is_list) {
        const std::size_t place = place_in_list(item->step.key).value();
        if (place >= node.items.size()) node.items.resize(place + 1, tree_.add({}));
        node.items[place] = value;
      } else {
        node.items.push_back(key_of(item->step));
        node.items.push_back(value);
      }
    }
    return tree_.add(std::move(node));
  }

  /// Returns whether a node is a list, a tuple or an object that is filled like a list.
  bool is_of_items(PickleId id) const {
    const PickleNode& node = tree_[id];
    return node.kind == PickleKind::list || node.kind == PickleKind::tuple ||
           (node.kind == PickleKind::call && !node.has_pairs && !node.items.empty());
  }

  /// Returns whether a former list stays one: true if all items have indices as keys, false if none has. Throws input
  /// for a mixture.
  bool fit_in_list(const Branches& branches, const std::string& path) const {
    const std::size_t size = tree_[branches.like].items.size();
    const auto has_place = [&](const Branches* item) {
      const auto place = place_in_list(item->step.key);
      return place && *place < size + most_open_items;
    };
    const auto named = std::ranges::find_if_not(branches.items, has_place);
    if (named == branches.items.end()) return true;
    if (std::ranges::any_of(branches.items, has_place))
      throw Error(Kind::input, "/" + name_below(path, (*named)->step.key),
                  {"its place is in a list of " + std::to_string(size),
                   "a number for its name there",
                   "",
                   {Advice::What::rename, ""}});
    return false;
  }

  /// Returns whether a key is a number: its old key was one, and a new key can be one.
  bool is_number(const Step& step) const {
    const bool was_number = step.key_node != no_node && tree_[step.key_node].kind == PickleKind::integer;
    return was_number && (!step.is_renamed || place_in_list(step.key));
  }

  PickleId key_of(const Step& step) {
    if (step.key_node == no_node) return add_text(tree_, step.key);
    if (!step.is_renamed) return step.key_node;
    return is_number(step) ? add_integer(tree_, std::stoll(step.key)) : add_text(tree_, step.key);
  }

  std::deque<Pickle> pickles_;  // the tree's nodes point into them
  Pickle tree_;
  TreeBounds bounds_;
  std::deque<Branches> all_;
  Branches root_;
  PickleId lone_ = no_node;  // a root that is not a container
  const decltype(TreePart::new_name)* new_name_ = nullptr;
};

}  // namespace

std::string chosen_tree(const std::vector<TreePart>& parts) {
  return TreeChoice(parts).take();
}

}  // namespace ckpt::torch
