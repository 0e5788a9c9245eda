#include "store/torch/tree.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "store/torch/leaf.hpp"

namespace ckpt::torch {

namespace {

/// Dicts in dicts. A list may hold itself,
constexpr int most_levels = 100;
/// and a pickle of 300 bytes may hold a list 2^60 times.
constexpr std::uint64_t most_visits = 10'000'000;
constexpr std::size_t text_bytes_of_visit = 64;

constexpr std::size_t longest_expanded_list = 64;

/// The name of the one tensor that is all of a file.
constexpr const char* lone_tensor = "tensor";
/// Root attributes of files that these programs write begin so.
constexpr std::string_view own_attributes = "ckpt_";

struct Child {
  std::string key;
  PickleId value;
};

std::string key_text(const Pickle& pickle, PickleId id, int level) {
  const PickleNode& node = pickle[id];
  switch (node.kind) {
    case PickleKind::text:
    case PickleKind::global:
      return std::string(node.text);
    case PickleKind::integer:
      return std::to_string(node.number);
    case PickleKind::boolean:
      return node.number != 0 ? "True" : "False";
    case PickleKind::none:
      return "None";
    case PickleKind::tuple: {
      if (level > most_levels) break;
      std::string text = "(";
      for (const PickleId item : node.items) text += (text.size() > 1 ? ", " : "") + key_text(pickle, item, level + 1);
      return text + ")";
    }
    default:
      break;
  }
  throw Error(Kind::input, "",
              {"found a dict whose keys are neither texts nor whole numbers", "expected names for what it holds", ""});
}

/// The pairs of a dict as protocol 1 and Python 2 wrote them: OrderedDict([[key, value], ...]).
const PickleNode* pairs_of(const Pickle& pickle, PickleId id) {
  if (!pickle.is_call_of(id, "collections.OrderedDict")) return nullptr;
  const PickleNode& arguments = pickle[pickle[id].arguments];
  if (arguments.kind != PickleKind::tuple || arguments.items.size() != 1) return nullptr;
  const PickleNode& pairs = pickle[arguments.items.front()];
  const bool are_pairs = std::all_of(pairs.items.begin(), pairs.items.end(),
                                     [&](PickleId pair) { return pickle[pair].items.size() == 2; });
  return pairs.kind == PickleKind::list && are_pairs ? &pairs : nullptr;
}

/// Whether a node holds others by keys or in order: containers, and objects that are filled as such.
bool is_container(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  return node.kind == PickleKind::dict || node.kind == PickleKind::list || node.kind == PickleKind::tuple ||
         (node.kind == PickleKind::call && (!node.items.empty() || pickle.name_of(id) == "collections.OrderedDict"));
}

/// A list of numbers that is too long for one attribute, and for an attribute of each.
bool is_long_list(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  return !node.has_pairs && node.items.size() > longest_expanded_list &&
         std::all_of(node.items.begin(), node.items.end(),
                     [&](PickleId item) { return pickle[item].kind < PickleKind::global; });
}

std::vector<Child> children_of(const Pickle& pickle, PickleId id) {
  std::vector<Child> children;
  const PickleNode& node = pickle[id];
  if (const PickleNode* const pairs = pairs_of(pickle, id))
    for (const PickleId pair : pairs->items)
      children.push_back({key_text(pickle, pickle[pair].items[0], 0), pickle[pair].items[1]});
  if (node.kind == PickleKind::dict || node.has_pairs)
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2)
      children.push_back({key_text(pickle, node.items[i], 0), node.items[i + 1]});
  else
    for (const PickleId item : node.items) children.push_back({std::to_string(children.size()), item});
  return children;
}

bool is_row_major(const TensorView& view) {
  const Extents strides = row_major_strides(view.shape);
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] > 1 && view.strides[d] != strides[d]) return false;
  return true;
}

class TreeReader {
 public:
  TreeReader(const Pickle& pickle, const Storages& storages) : pickle_(pickle), storages_(storages) {}

  TreeReading read() {
    const PickleId root = pickle_.root();
    if (auto view = tensor_in(pickle_, root, storages_))
      add_array(lone_tensor, std::move(*view));
    else if (is_container(pickle_, root))
      with_children("", root, 0);
    else
      throw Error(Kind::input, "",
                  {"found no dict but " + describe(pickle_, root), "expected a dict of tensors",
                   "load it with torch, and save its state_dict()"});
    return {schema(), std::move(left_out_)};
  }

 private:
  struct Array {
    StoredArray stored;
    Dataset dataset;
  };

  void with_children(const std::string& path, PickleId id, int level) {
    if (level > most_levels)
      throw Error(Kind::input, "",
                  {"found more than 100 dicts in one another", "expected fewer", "does one hold itself?"});
    const auto children = children_of(pickle_, id);
    if (children.empty() && !path.empty()) left_out_.push_back(path + " (an empty dict)");
    for (const Child& child : children) visit(path, child, level);
  }

  void visit(const std::string& path, const Child& child, int level) {
    const PickleNode& node = pickle_[child.value];
    visits_ += 1 + node.items.size() + (node.text.size() + path.size()) / text_bytes_of_visit;
    if (visits_ > most_visits)
      throw Error(Kind::input, "", {"found more than 10,000,000 values", "expected fewer", "does a list hold itself?"});
    const std::string name = path.empty() ? child.key : path + "/" + child.key;
    auto view = with_context("/" + name, [&] { return view_of(child.value); });
    if (view) return add_array(name, std::move(*view));
    if (auto value = leaf_value(pickle_, child.value)) return add_attribute(path, child.key, std::move(*value));
    if (is_container(pickle_, child.value) && !is_long_list(pickle_, child.value))
      return with_children(name, child.value, level + 1);
    left_out_.push_back(name + " (" + describe(pickle_, child.value) + ")");
  }

  /// A storage by itself is a tensor of one dimension.
  std::optional<TensorView> view_of(PickleId id) const {
    if (pickle_[id].kind != PickleKind::persistent) return tensor_in(pickle_, id, storages_);
    return whole_storage(pickle_, id, storages_);
  }

  void add_array(const std::string& name, TensorView view) {
    Array array;
    array.stored = {name, std::move(view.dtype), view.shape, std::move(view.global_shape), false};
    Dataset& dataset = array.dataset;
    if (!view.place.empty()) {
      dataset.storage = is_row_major(view) ? Storage::raw : Storage::strided;
      dataset.extents = FileExtents(view.place.lo, view.place.size());
      if (dataset.storage == Storage::strided) dataset.strides = view.strides;
    }
    if (view.state != no_node) dataset.attributes = attributes_of(name, view.state);
    arrays_.push_back(std::move(array));
  }

  /// The attributes that a tensor has in Python.
  std::vector<Attribute> attributes_of(const std::string& name, PickleId state) {
    std::map<std::string, Value> values;
    std::vector<PickleId> dicts{state};
    if (pickle_[state].kind == PickleKind::tuple) dicts = pickle_[state].items;
    for (const PickleId dict : dicts)
      for (const Child& child : children_of(pickle_, dict)) {
        if (auto value = leaf_value(pickle_, child.value))
          values.insert_or_assign(child.key, std::move(*value));
        else
          left_out_.push_back(name + "." + child.key + " (" + describe(pickle_, child.value) + ")");
      }
    return listed(std::move(values));
  }

  void add_attribute(const std::string& path, const std::string& key, Value value) {
    if (path.empty() && key.starts_with(own_attributes)) {
      left_out_.push_back(key + " (a name that these programs use themselves)");
    } else if (!attributes_[path].emplace(key, std::move(value)).second) {
      throw Error(Kind::input, "/" + path, {"found two values of the name " + key, "expected one", ""});
    }
  }

  static std::vector<Attribute> listed(std::map<std::string, Value> values) {
    std::vector<Attribute> attributes;
    for (auto& [name, value] : values) attributes.push_back({name, std::move(value)});
    return attributes;
  }

  Schema schema() {
    std::sort(arrays_.begin(), arrays_.end(),
              [](const Array& a, const Array& b) { return a.stored.name < b.stored.name; });
    std::vector<StoredArray> stored;
    for (Array& array : arrays_) {
      if (!stored.empty() && stored.back().name == array.stored.name)
        throw Error(Kind::input, "/" + array.stored.name,
                    {"found two tensors of this name", "expected one", "are there keys like 1 and \"1\" in one dict?"});
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
  Schema schema_;
  std::vector<std::string> left_out_;
  std::vector<Array> arrays_;
  std::map<std::string, std::map<std::string, Value>> attributes_;  // by group
  std::uint64_t visits_ = 0;
};

}  // namespace

TreeReading read_tree(const Pickle& pickle, const Storages& storages) {
  return TreeReader(pickle, storages).read();
}

}  // namespace ckpt::torch
