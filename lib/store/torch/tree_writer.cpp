#include "store/torch/tree_writer.hpp"

#include <set>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/element_types.hpp"
#include "store/torch/tensor_view.hpp"
#include "store/torch/tree_edit.hpp"

namespace ckpt::torch {

namespace {

Pickle parsed(const FileSpec& spec) {
  if (!spec.tree) return Pickle();
  std::size_t at = 0;
  auto tree = Pickle::read(*spec.tree, at);
  if (!tree) throw Error(Kind::input, "its tree", {"ends before its object does", "a whole one", ""});
  return std::move(*tree);
}

/// Returns the names that an attribute cannot have: those of tensors and groups, and of everything that contains them.
std::set<std::string> taken_names(const FileSpec& spec) {
  std::set<std::string> taken;
  const auto take_above = [&](const std::string& name) {
    for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
      taken.insert(name.substr(0, end));
  };
  for (const FileSpec::Array& array : spec.arrays) {
    take_above(array.name);
    taken.insert(array.name);
  }
  for (const Group& group : spec.groups) {
    take_above(group.path);
    taken.insert(group.path);
  }
  return taken;
}

/// Calls visit(name, attribute, has a place) for all attributes of a specification.
template <class Visit>
void for_each_attribute(const FileSpec& spec, Visit&& visit) {
  const std::set<std::string> taken = taken_names(spec);
  const auto all = [&](const std::string& path, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      const std::string name = name_below(path, attribute.name);
      visit(name, attribute, is_held(attribute.value) && !taken.contains(name));
    }
  };
  all("", spec.attributes);
  for (const Group& group : spec.groups) all(group.path, group.attributes);
}

class TreeWriter {
 public:
  /// Without a form, arrays are torch's tensors.
  TreeWriter(const FileSpec& spec, Pickle tree, unsigned protocol = 2, ArrayForm form = {})
      : spec_(spec), tree_(std::move(tree)), out_(std::max(tree_.protocol(), protocol)), form_(std::move(form)) {
    for (std::size_t i = 0; i < spec.arrays.size(); ++i) arrays_.emplace(spec.arrays[i].name, i);
  }

  PickledTree write() {
    name_storages();
    edit();
    return write_as_it_is();
  }

  PickledTree write_as_it_is() {
    PickleCopy copy(tree_, out_, [&](PickleId id) { return write_node(id, copy); });
    copy.node(tree_.root());
    result_.pickle = out_.take();
    return std::move(result_);
  }

 private:
  void name_storages() {
    for (const FileSpec::Array& array : spec_.arrays)
      result_.keys.push_back(array.same_as ? result_.keys.at(*array.same_as) : std::to_string(storages_++));
  }

  void edit() {
    NameSet tensors;
    for (const FileSpec::Array& array : spec_.arrays) tensors.insert(array.name);
    unfold_paths(tree_, tensors);
    TreeEdit edit(tree_, tensors);
    for (const FileSpec::Array& array : spec_.arrays)
      if (!edit.has_tensor(array.name)) edit.put(array.name, add_tensor(tree_, array.name));
    for_each_attribute(spec_, [&](const std::string& name, const Attribute& attribute, bool has_place) {
      if (has_place && !edit.has(name)) edit.put(name, add_value(tree_, attribute.value));
    });
  }

  /// Writes tensors, and storages in other objects.
  bool write_node(PickleId id, PickleCopy& copy) {
    if (form_) return write_in_form(id);
    if (tree_[id].kind == PickleKind::persistent) {
      const auto& items = tree_[tree_[id].arguments].items;
      const std::string_view what = items.empty() ? std::string_view() : tree_[items[0]].text;
      if (what == carried_bytes && items.size() == carried_bytes_items) return write_known(items, copy);
      const auto name = carried_name(tree_, id);
      if (!name) refuse_pickle("a persistent value that is no tensor", "one that these programs wrote");
      const FileSpec::Array& array = array_of(*name);
      if (what == carried_storage) return write_storage(array);
      const bool requires_grad = items.size() > 2 && tree_[items[2]].number != 0;
      write_function(array);
      write_arguments(array, requires_grad);
      out_.opcode(op::reduce);
      return true;
    }
    if (tree_.name_of(id) != typed_tensor_function || !carried_name(tree_, id)) return false;
    write_typed(tree_[tree_[id].arguments].items, copy);
    return true;
  }

  bool write_in_form(PickleId id) {
    if (const auto name = carried_name(tree_, id)) {
      form_(out_, static_cast<std::size_t>(&array_of(*name) - spec_.arrays.data()));
      return true;
    }
    if (tree_[id].kind == PickleKind::persistent)
      refuse_pickle("an array inside an object", "arrays in dicts and lists");
    return false;
  }

  const FileSpec::Array& array_of(std::string_view name) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) refuse_pickle("tensor " + std::string(name) + " in another value", "one by itself");
    return spec_.arrays[found->second];
  }

  /// Writes (None, class, tensor, attributes).
  void write_typed(const std::vector<PickleId>& arguments, PickleCopy& copy) {
    const FileSpec::Array& array = array_of(*carried_name(tree_, arguments[2]));
    out_.global("torch._tensor", "_rebuild_from_type_v2");
    out_.opcode(op::mark);
    write_function(array);
    copy.node(arguments[1]);
    const auto& items = tree_[tree_[arguments[2]].arguments].items;
    write_arguments(array, items.size() > 2 && tree_[items[2]].number != 0);
    for (std::size_t i = 3; i < arguments.size(); ++i) copy.node(arguments[i]);
    out_.opcode(op::tuple, op::reduce);
  }

  void write_function(const FileSpec::Array& array) {
    out_.global("torch._utils", checked_type(array).storage.empty() ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  }

  /// Writes storage, offset, shape, strides, whether a gradient is required, hooks, and the type if the storage does
  /// not imply it.
  void write_arguments(const FileSpec::Array& array, bool requires_grad) {
    const TorchType type = checked_type(array);
    out_.opcode(op::mark);
    write_storage(array);
    out_.integer(0);
    out_.numbers(array.shape);
    out_.numbers(row_major_strides(array.shape));
    out_.boolean(requires_grad);
    out_.global("collections", "OrderedDict");
    out_.opcode(op::empty_tuple, op::reduce);
    if (type.storage.empty()) out_.global("torch", type.name);
    out_.opcode(op::tuple);
  }

  bool write_storage(const FileSpec::Array& array) {
    const TorchType type = checked_type(array);
    const std::uint64_t elements = numel(array.shape);
    begin_storage();
    if (type.storage.empty())
      out_.global("torch.storage", "UntypedStorage");
    else
      out_.global("torch", type.storage);
    end_storage(result_.keys[arrays_.at(array.name)],
                type.storage.empty() ? checked_mul(elements, array.dtype.size) : elements);
    return true;
  }

  void begin_storage() {
    out_.opcode(op::mark);
    out_.word("storage");
  }

  void end_storage(const std::string& key, std::uint64_t elements) {
    out_.text(key);
    out_.word("cpu");
    out_.integer(static_cast<std::int64_t>(elements));
    out_.opcode(op::tuple, op::binpersid);
  }

  /// Writes (..., type, key, elements, its bytes).
  bool write_known(const std::vector<PickleId>& items, PickleCopy& copy) {
    const auto [known, is_new] = known_.try_emplace(std::string(tree_[items[2]].text), storages_);
    if (is_new) result_.others.push_back({std::to_string(storages_++), std::string(tree_[items[4]].text)});
    begin_storage();
    copy.node(items[1]);
    end_storage(std::to_string(known->second), static_cast<std::uint64_t>(tree_[items[3]].number));
    return true;
  }

  const FileSpec& spec_;
  Pickle tree_;
  PickleWriter out_;
  ArrayForm form_;
  PickledTree result_;
  std::unordered_map<std::string_view, std::size_t> arrays_;  // by name
  std::unordered_map<std::string, std::size_t> known_;        // the new keys of storages in other values
  std::size_t storages_ = 0;
};

}  // namespace

TorchType checked_type(const FileSpec::Array& array) {
  const auto type = torch_type(array.dtype);
  if (!type || array.verbatim)
    throw Error(Kind::input, "/" + array.name,
                {"elements of type " + array.dtype.name + ", which torch has not", "", "write HDF5 instead",
                 leaving_out({array.name.str()})});
  return *type;
}

PickledTree write_tree(const FileSpec& spec) {
  return TreeWriter(spec, parsed(spec)).write();
}

std::string write_tree(const FileSpec& spec, unsigned protocol, const ArrayForm& form) {
  return TreeWriter(spec, parsed(spec), protocol, form).write().pickle;
}

PickledTree write_tensor(const FileSpec::Array& array) {
  FileSpec spec;
  spec.arrays.push_back(array);
  Pickle tree;
  tree.set_root(add_tensor(tree, array.name));
  return TreeWriter(spec, std::move(tree)).write();
}

PickledTree write_object(const Pickle& tree, PickleId object) {
  return TreeWriter(FileSpec{}, tree.part(object)).write_as_it_is();
}

std::vector<std::string> lost_attributes(const FileSpec& spec) {
  std::vector<std::string> lost;
  for_each_attribute(spec, [&](const std::string& name, const Attribute& attribute, bool has_place) {
    if (!has_place)
      lost.push_back("attribute " + name +
                     (is_held(attribute.value) ? ", which has the name of a tensor"
                                               : ", which is no number, text, or list of them"));
  });
  return lost;
}

}  // namespace ckpt::torch
