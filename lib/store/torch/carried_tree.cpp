#include "store/torch/carried_tree.hpp"

#include <limits>
#include <utility>

#include "io/crc.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/leaf.hpp"
#include "store/torch/placeholders.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

namespace {

constexpr std::size_t requires_grad_argument = 4;
/// Functions with one tensor, and its state, as arguments.
constexpr std::string_view parameter_functions = "torch._utils._rebuild_parameter";

class TreeCarrier {
 public:
  TreeCarrier(const Archive& archive, const PosixFile& file)
      : tree_(archive.tree),
        storages_(archive.storages),
        placeholders_(archive.tree, archive.storages),
        out_(archive.tree.protocol()),
        objects_(archive, file, out_) {}

  std::string write() {
    value(tree_.root(), is_tensor(tree_.root()) ? lone_tensor : "", 0);
    return out_.take();
  }

 private:
  /// True even for one that cannot be read: it has a name, and is refused only where it is kept.
  bool is_tensor(PickleId id) const {
    if (tree_[id].kind == PickleKind::persistent) return true;
    try {
      return tensor_in(tree_, id, storages_).has_value();
    } catch (const Error&) {
      return true;
    }
  }

  bool is_readable(PickleId id) const {
    try {
      return tensor_in(tree_, id, storages_).has_value();
    } catch (const Error&) {
      return false;
    }
  }

  bool is_placeholder(PickleId id, const std::string& name) const {
    if (!placeholders_ || !is_readable(id)) return false;
    const auto view = tensor_in(tree_, id, storages_);
    return view && placeholders_.contains(name, *view);
  }

  /// Visits values in TreeReader's order, so that a name means the same tensor.
  void value(PickleId id, const std::string& name, int level) {
    bounds_.check_level(level);
    bounds_.visit(tree_[id], name);
    if (is_placeholder(id, name)) return objects_.copy(id);
    if (is_tensor(id)) return tensor(id, name);
    const bool is_leaf = !is_container(tree_, id) || is_long_list(tree_, id) || leaf_value(tree_, id);
    if (!is_leaf) return container(id, name, level);
    objects_.copy(id);
  }

  void container(PickleId id, const std::string& name, int level) {
    const PickleNode& node = tree_[id];
    const auto branches = branches_of(tree_, id);
    const bool has_keys = !branches.empty() && branches.front().key_node != no_node;
    begin(node, has_keys && node.items.empty());
    if (!branches.empty() || node.kind == PickleKind::tuple) {
      out_.opcode(op::mark);
      for (const Branch& branch : branches) {
        if (branch.key_node != no_node) objects_.copy(branch.key_node);
        value(branch.value, name_below(name, branch.key), level + 1);
      }
      out_.opcode(node.kind == PickleKind::tuple ? op::tuple : has_keys ? op::setitems : op::appends);
    }
    if (node.state == no_node) return;
    objects_.copy(node.state);
    out_.opcode(op::build);
  }

  /// Begins an empty container. `is_of_pairs`: its contents are arguments of its class.
  void begin(const PickleNode& node, bool is_of_pairs) {
    if (node.kind == PickleKind::tuple) return;
    if (node.kind != PickleKind::call)
      return out_.opcode(node.kind == PickleKind::list ? op::empty_list : op::empty_dict);
    objects_.copy(node.function);
    if (is_of_pairs)
      out_.opcode(op::empty_tuple);
    else
      objects_.copy(node.arguments);
    out_.opcode(node.opcode);
  }

  /// Calls around a tensor are kept, but not that it was on a device, or distributed.
  void tensor(PickleId id, const std::string& name) {
    if (tree_[id].kind == PickleKind::persistent) return reference({carried_storage, name}, std::nullopt);
    if (!is_readable(id)) return reference({carried_tensor, name}, false);
    const std::string_view function = tree_.name_of(id);
    const auto& arguments = tree_[tree_[id].arguments].items;
    if (function == "torch._utils._rebuild_device_tensor_from_cpu_tensor") return tensor(arguments[0], name);
    if (function == typed_tensor_function) return typed(arguments, name);
    if (!function.starts_with(parameter_functions)) return reference({carried_tensor, name}, requires_grad(arguments));
    objects_.copy(tree_[id].function);
    out_.opcode(op::mark);
    tensor(arguments[0], name);
    for (std::size_t i = 1; i < arguments.size(); ++i) objects_.copy(arguments[i]);
    out_.opcode(op::tuple, op::reduce);
  }

  void typed(const std::vector<PickleId>& arguments, const std::string& name) {
    const std::string_view function = tree_.name_of(arguments[0]);
    if (!function.starts_with("torch._utils._rebuild_tensor")) return reference({carried_tensor, name}, false);
    out_.global("torch._tensor", "_rebuild_from_type_v2");
    out_.opcode(op::mark, op::none);
    objects_.copy(arguments[1]);
    reference({carried_tensor, name}, requires_grad(tree_[arguments[2]].items));
    objects_.copy(arguments[3]);
    out_.opcode(op::tuple, op::reduce);
  }

  bool requires_grad(const std::vector<PickleId>& arguments) const {
    return arguments.size() > requires_grad_argument && tree_[arguments[requires_grad_argument]].number != 0;
  }

  void reference(std::pair<const char*, const std::string&> what, std::optional<bool> flag) {
    out_.word(what.first);
    out_.text(what.second);
    if (flag) out_.boolean(*flag);
    out_.opcode(flag ? op::tuple3 : op::tuple2);
    out_.opcode(op::binpersid);
  }

  const Pickle& tree_;
  const Storages& storages_;
  Placeholders placeholders_;
  PickleWriter out_;
  ObjectCarrier objects_;
  TreeBounds bounds_;
};

}  // namespace

ObjectCarrier::ObjectCarrier(const Archive& archive, const PosixFile& file, PickleWriter& out, std::string archive_name)
    : tree_(archive.tree),
      file_(file),
      out_(out),
      sums_(archive.sums),
      archive_name_(std::move(archive_name)),
      survey_(archive.tree, archive.storages),
      copy_(archive.tree, out, [this](PickleId id) { return write_storage(id); }) {}

/// Writes a storage in an object that is copied. Returns false for anything else.
bool ObjectCarrier::write_storage(PickleId id) {
  if (tree_[id].kind != PickleKind::persistent) return false;
  const PickleNode& key = tree_[tree_[id].arguments];
  const auto place = survey_.storage(id);
  if (!place) return false;
  out_.opcode(op::mark);
  out_.word(carried_bytes);
  copy_.node(key.items[1]);
  out_.text(archive_name_ + std::string(tree_[key.items[2]].text));
  out_.integer(tree_[key.items[4]].number);
  if (!given_.contains(place->lo)) check_object_bytes(bytes_ += place->size());
  std::string bytes(given_.insert(place->lo).second ? place->size() : 0, '\0');
  file_.read(place->lo, std::as_writable_bytes(std::span(bytes)));
  if (const auto sum = sums_.find(place->lo); sum != sums_.end() && !bytes.empty())
    crc32.check(crc32.of(bytes), sum->second, "data/" + std::string(tree_[key.items[2]].text));
  out_.sized(bytes_opcode(bytes.size()), bytes);
  out_.opcode(op::tuple, op::binpersid);
  return true;
}

unsigned char bytes_opcode(std::uint64_t count) {
  return count > std::numeric_limits<std::uint32_t>::max() ? op::binbytes8 : op::binbytes;
}

std::string carried_tree(const Archive& archive, const PosixFile& file) {
  return TreeCarrier(archive, file).write();
}

PickleId add_tensor(Pickle& tree, const std::string& name) {
  PickleNode key = node_of(PickleKind::tuple);
  key.items = {add_text(tree, carried_tensor), add_text(tree, name)};
  PickleNode tensor = node_of(PickleKind::persistent);
  tensor.arguments = tree.add(std::move(key));
  return tree.add(std::move(tensor));
}

std::optional<std::string_view> carried_name(const Pickle& tree, PickleId id) {
  for (int i = 0; i < most_wrappers && tree[id].kind == PickleKind::call; ++i) {
    const PickleNode& arguments = tree[tree[id].arguments];
    const bool is_typed = tree.name_of(id) == typed_tensor_function;
    const bool is_parameter = tree.name_of(id).starts_with(parameter_functions);
    if ((!is_typed && !is_parameter) || arguments.kind != PickleKind::tuple || arguments.items.size() < 3)
      return std::nullopt;
    id = arguments.items[is_typed ? 2 : 0];
  }
  if (tree[id].kind != PickleKind::persistent) return std::nullopt;
  const auto& items = tree[tree[id].arguments].items;
  if (items.size() < 2 || tree[items[1]].kind != PickleKind::text) return std::nullopt;
  const std::string_view what = tree[items[0]].text;
  if (what != carried_tensor && what != carried_storage) return std::nullopt;
  return tree[items[1]].text;
}

}  // namespace ckpt::torch
