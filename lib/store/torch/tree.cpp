#include "store/torch/tree.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "store/pickle/opaque.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/leaf.hpp"
#include "store/torch/placeholders.hpp"
#include "store/torch/view_dataset.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt::torch {

namespace {

/// The prefix of root attributes in files that ckpt-reshard writes.
constexpr std::string_view own_attributes = "ckpt_";

class TreeReader {
 public:
  TreeReader(const Pickle& pickle, const Storages& storages, GlobalShapes shapes)
      : pickle_(pickle),
        storages_(storages),
        shapes_(std::move(shapes)),
        survey_(pickle, storages),
        placeholders_(pickle, storages) {}

  Schema read() {
    TreeBounds::check_values(pickle_);
    const PickleId root = pickle_.root();
    if (auto view = tensor_in(pickle_, root, storages_))
      add_array(lone_tensor, std::move(*view));
    else if (is_container(pickle_, root))
      with_children("", root, 0);
    else if (pickle_[root].kind == PickleKind::call && survey_.of(root).storage_bytes == 0)
      add_leaf(lone_object, root);
    else
      throw Error(Kind::input, "",
                  {"found no dict but " + describe(pickle_, root), "a dict of tensors",
                   "load it with torch, and save its state_dict()"});
    return schema();
  }

 private:
  struct Array {
    StoredArray stored;
    Dataset dataset;
  };

  void with_children(const std::string& path, PickleId id, int level) {
    bounds_.check_level(level);
    const auto branches = branches_of(pickle_, id);
    if (branches.empty() && !path.empty()) add_leaf(path, id);
    for (const Branch& child : branches) visit(path, child, level);
  }

  void visit(const std::string& path, const Branch& child, int level) {
    const std::string name = name_below(path, child.key);
    bounds_.visit(pickle_[child.value], name);
    std::optional<TensorView> view;
    try {
      view = view_of(child.value);
    } catch (const Error& why) {
      if (why.kind() != Kind::input) throw;
      arrays_.push_back({unreadable(name, why), {}});
      return;
    }
    if (view && placeholders_.contains(name, *view)) return;
    if (view) return add_array(name, std::move(*view));
    if (auto value = leaf_value(pickle_, child.value))
      return add_attribute(path, child.key, child.value, std::move(*value));
    if (is_container(pickle_, child.value) && !is_long_list(pickle_, child.value))
      return with_children(name, child.value, level + 1);
    add_leaf(name, child.value);
  }

  void add_leaf(const std::string& name, PickleId id) {
    schema_.leaves.push_back(leaf_of(pickle_, survey_.of(id), id, name));
  }

  /// A bare storage is a tensor of one dimension.
  std::optional<TensorView> view_of(PickleId id) const {
    if (pickle_[id].kind != PickleKind::persistent) return tensor_in(pickle_, id, storages_);
    return whole_storage(pickle_, id, storages_);
  }

  void add_array(const std::string& name, TensorView view) {
    Array array;
    array.stored = {name, std::move(view.dtype), view.shape, std::move(view.global_shape), false};
    array.dataset = dataset_of(view);
    if (const auto shape = shapes_.find(name); shape != shapes_.end()) array.stored.global_shape = shape->second;
    if (view.state != no_node) array.dataset.attributes = attributes_of(name, view.state);
    arrays_.push_back(std::move(array));
  }

  /// Returns the attributes that a tensor has in Python.
  std::vector<Attribute> attributes_of(const std::string& name, PickleId state) {
    std::map<std::string, Value> values;
    std::vector<PickleId> dicts{state};
    if (pickle_[state].kind == PickleKind::tuple) dicts = pickle_[state].items;
    for (const PickleId dict : dicts)
      for (const Branch& child : branches_of(pickle_, dict)) {
        if (auto value = leaf_value(pickle_, child.value))
          values.insert_or_assign(child.key, std::move(*value));
        else
          add_leaf(name + "." + child.key, child.value);
      }
    return listed(std::move(values));
  }

  void add_attribute(const std::string& path, const std::string& key, PickleId id, Value value) {
    if (path.empty() && key.starts_with(own_attributes)) {
      add_leaf(key, id);
    } else if (!attributes_[path].emplace(key, std::move(value)).second) {
      throw Error(Kind::input, "/" + path, {"found two values of the name " + key, "one", ""});
    }
  }

  static std::vector<Attribute> listed(std::map<std::string, Value> values) {
    std::vector<Attribute> attributes;
    for (auto& [name, value] : values) attributes.push_back({name, std::move(value)});
    return attributes;
  }

  Schema schema() {
    std::vector<std::pair<std::string, std::size_t>> order;  // sorts these instead of the arrays, which are large and
                                                             // scattered
    order.reserve(arrays_.size());
    for (const Array& array : arrays_) order.emplace_back(array.stored.name, order.size());
    std::sort(order.begin(), order.end());
    std::vector<StoredArray> stored;
    stored.reserve(order.size());
    schema_.datasets.reserve(order.size());
    for (const auto& [name, at] : order) {
      Array& array = arrays_[at];
      if (!stored.empty() && stored.back().name == array.stored.name)
        throw Error(Kind::input, "/" + array.stored.name,
                    {"found two tensors of this name", "one", "are there keys like 1 and \"1\" in one dict?"});
      stored.push_back(std::move(array.stored));
      schema_.datasets.push_back(std::move(array.dataset));
    }
    schema_.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(stored));
    for (auto& [path, values] : attributes_) {
      if (path.empty())
        schema_.attributes = listed(std::move(values));
      else
        schema_.groups.push_back({path, listed(std::move(values))});
    }
    return std::move(schema_);
  }

  const Pickle& pickle_;
  const Storages& storages_;
  GlobalShapes shapes_;
  OpaqueSurvey survey_;
  Placeholders placeholders_;
  Schema schema_;
  std::deque<Array> arrays_;                                        // a deque, since arrays are large and must not move
                                                                    // when it grows
  std::map<std::string, std::map<std::string, Value>> attributes_;  // by group
  TreeBounds bounds_;
};

}  // namespace

Schema read_tree(const Pickle& pickle, const Storages& storages, GlobalShapes shapes) {
  return TreeReader(pickle, storages, std::move(shapes)).read();
}

}  // namespace ckpt::torch
