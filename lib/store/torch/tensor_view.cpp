#include "store/torch/tensor_view.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "store/torch/distributed.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt::torch {

namespace {

/// Limit on the bytes of an expanded tensor (strides of 0) beyond its storage.
constexpr std::uint64_t most_expanded_bytes = 1U << 30;

[[noreturn]] void refuse_tensor(const std::string& found, const std::string& expected,
                                const std::string& remedy = "is the file damaged?") {
  throw Error(Kind::input, "", {"found " + found, expected, remedy});
}

constexpr std::string_view tensor_functions = "torch._utils._rebuild_";
constexpr std::string_view storage_from_bytes = "torch.storage._load_from_bytes";
constexpr std::string_view wrapper_subclass = "torch._utils._rebuild_wrapper_subclass";
constexpr std::size_t parameter_state = 3;  // of _rebuild_parameter_with_state

/// A function that makes a tensor of the contents of a storage.
struct RebuildForm {
  std::string_view function;
  std::size_t arguments;  ///< at least
  bool is_wrapper;        ///< the first argument is another tensor
  bool has_dtype;         ///< the last argument is the type of its elements, not the storage's
};
constexpr std::array forms{RebuildForm{"torch._utils._rebuild_tensor", 4, false, false},
                           RebuildForm{"torch._utils._rebuild_tensor_v2", 4, false, false},
                           RebuildForm{"torch._utils._rebuild_tensor_v3", 7, false, true},
                           RebuildForm{"torch._utils._rebuild_parameter", 1, true, false},
                           RebuildForm{"torch._utils._rebuild_parameter_with_state", 1, true, false},
                           RebuildForm{"torch._utils._rebuild_device_tensor_from_cpu_tensor", 1, true, false}};

std::optional<RebuildForm> rebuild_form(std::string_view function) {
  for (const RebuildForm& form : forms)
    if (form.function == function) return form;
  return std::nullopt;
}

/// Functions that make other tensors, and what to save instead.
struct Refusal {
  std::string_view function;
  std::string_view what;
  std::string_view remedy;
};
constexpr std::array refusals{
    Refusal{"torch._utils._rebuild_sparse_tensor", "a sparse tensor", "save its to_dense()"},
    Refusal{"torch._utils._rebuild_sparse_csr_tensor", "a sparse tensor", "save its to_dense()"},
    Refusal{"torch._utils._rebuild_nested_tensor", "a nested tensor", "save its parts, or its to_padded_tensor()"},
    Refusal{"torch._utils._rebuild_qtensor", "a quantised tensor", "save its int_repr() and its scales"},
    Refusal{"torch._utils._rebuild_meta_tensor_no_storage", "a tensor on the device meta, which has no elements",
            "save the model after its weights have been made"},
    Refusal{"torch._utils._rebuild_device_tensor_from_numpy", "a tensor that is saved as an array of NumPy",
            "save it from the CPU"},
    Refusal{"torch._utils._rebuild_xla_tensor", "a tensor that is saved as an array of NumPy", "save it from the CPU"},
    Refusal{storage_from_bytes, "a tensor that was pickled without torch.save", "use torch.save"}};

/// A call that makes a tensor.
struct RebuildCall {
  std::string_view function;  ///< empty: it does not make a tensor
  std::string_view type;      ///< its class, if that is not torch's own
  PickleId arguments = no_node;
  PickleId state = no_node;
};

[[noreturn]] void refuse_function(const RebuildCall& made) {
  for (const Refusal& refusal : refusals)
    if (made.function == refusal.function)
      refuse_tensor(std::string(refusal.what), "a dense one with its values", std::string(refusal.remedy));
  refuse_tensor("a tensor that " + std::string(made.function) + " makes" +
                    (made.type.empty() ? "" : ", of class " + std::string(made.type)),
                "a dense one of torch's own", "save its full tensor");
}

std::int64_t integer_at(const Pickle& pickle, PickleId id, const char* what) {
  const PickleNode& node = pickle[id];
  if (node.kind != PickleKind::integer) refuse_tensor(std::string(what) + " that is no number", "a whole number");
  return node.number;
}

std::uint64_t count_at(const Pickle& pickle, PickleId id, const char* what) {
  const std::int64_t number = integer_at(pickle, id, what);
  if (number < 0) refuse_tensor(std::string(what) + " of " + std::to_string(number), "0 or more");
  return static_cast<std::uint64_t>(number);
}

/// Returns the items of a tuple of at least `least`: a call's arguments.
const std::vector<PickleId>& items_of(const Pickle& pickle, PickleId tuple, std::size_t least, std::string_view call) {
  const PickleNode& arguments = pickle[tuple];
  if (arguments.kind != PickleKind::tuple || arguments.items.size() < least)
    refuse_tensor("a call of " + std::string(call) + " with too few arguments", std::to_string(least) + " at least");
  return arguments.items;
}

const std::vector<PickleId>& items_of(const Pickle& pickle, const RebuildCall& made, std::size_t least) {
  return items_of(pickle, made.arguments, least, made.function);
}

RebuildCall made_by(const Pickle& pickle, PickleId call) {
  const std::string_view function = pickle.name_of(call);
  if (function == typed_tensor_function) {
    const auto& outer = items_of(pickle, pickle[call].arguments, 4, function);
    return {pickle.name_of(outer[0]), pickle.name_of(outer[1]), outer[2], outer[3]};
  }
  const auto& arguments = pickle[pickle[call].arguments].items;
  const bool takes_storage = std::any_of(arguments.begin(), arguments.end(),
                                         [&](PickleId id) { return pickle[id].kind == PickleKind::persistent; });
  if (!function.starts_with(tensor_functions) && function != storage_from_bytes && !takes_storage) return {};
  return {function, {}, pickle[call].arguments, no_node};
}

Shape shape_at(const Pickle& pickle, PickleId id, const char* what) {
  if (pickle.is_call_of(id, "torch.Size")) id = items_of(pickle, pickle[id].arguments, 1, "torch.Size").front();
  const PickleNode& node = pickle[id];
  if (node.kind != PickleKind::tuple && node.kind != PickleKind::list)
    refuse_tensor(std::string(what) + " that is no list", "a list of whole numbers");
  Shape shape;
  for (const PickleId item : node.items) shape.push_back(count_at(pickle, item, what));
  return shape;
}

/// A lazy view has its flag set: its values differ from the stored ones.
void check_flags(const Pickle& pickle, const std::vector<PickleId>& arguments, std::size_t at) {
  if (at >= arguments.size()) return;
  for (const char* flag : {"conj", "neg"})
    if (const PickleId value = pickle.value_of(arguments[at], flag); value != no_node && pickle[value].number != 0)
      refuse_tensor(std::string("a tensor that is a lazy view (") + flag + ")", "its values",
                    std::string("save its resolve_") + flag + "()");
}

/// Returns where the elements lie in the file, after checking that they are within their storage.
Interval place_in(const TensorView& view, std::uint64_t offset, Interval storage) {
  const std::uint64_t size = view.dtype.size;
  const std::uint64_t bytes = checked_mul(numel(view.shape), size, "a tensor's number of bytes");
  if (bytes == 0) return {storage.lo, storage.lo};
  std::uint64_t last = offset;
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    last = checked_add(last, checked_mul(view.shape[d] - 1, view.strides[d], "a tensor's span"), "a tensor's span");
  const std::uint64_t end = checked_mul(checked_add(last, 1), size, "a tensor's span");
  if (end > storage.size())
    refuse_tensor(to_string(view.shape) + " of " + view.dtype.name + " at element " + std::to_string(offset) +
                      " with strides " + to_string(view.strides) + ", which ends at byte " + std::to_string(end),
                  "its end within its storage of " + format_bytes(storage.size()));
  if (bytes > storage.size() && bytes - storage.size() > most_expanded_bytes)
    refuse_tensor(
        "an expanded tensor of " + format_bytes(bytes) + ", of which " + format_bytes(storage.size()) + " are stored",
        "at most " + format_bytes(most_expanded_bytes) + " more than are stored", "save it before it is expanded");
  return {storage.lo + offset * size, storage.lo + end};
}

/// Returns a storage's bytes in the file, in the number that the pickle states.
Interval place_of(const StorageClaim& claim, const Storages& storages) {
  const auto storage = storages.find(claim.key);
  if (storage == storages.end())
    refuse_tensor("storage " + std::string(claim.key) + ", which the file does not hold", "one that it holds",
                  "is the file truncated?");
  const std::uint64_t bytes = checked_mul(claim.elements, claim.dtype.size, "a storage's number of bytes");
  if (bytes != storage->second.size())
    refuse_tensor("storage " + std::string(claim.key) + " of " + std::to_string(bytes) + " bytes",
                  std::to_string(storage->second.size()) + ", as the file holds");
  return storage->second;
}

TensorView make_view(const Pickle& pickle, const std::vector<PickleId>& arguments, const std::optional<DType>& dtype,
                     const Storages& storages) {
  const StorageClaim claim = storage_claim(pickle, arguments[0]);
  const Interval storage = place_of(claim, storages);
  TensorView view;
  view.dtype = dtype ? *dtype : claim.dtype;
  const std::uint64_t offset = count_at(pickle, arguments[1], "an offset");
  view.shape = shape_at(pickle, arguments[2], "a shape");
  view.strides = shape_at(pickle, arguments[3], "strides");
  if (view.strides.size() != view.shape.size())
    refuse_tensor(std::to_string(view.strides.size()) + " strides",
                  "one for each of " + std::to_string(view.shape.size()) + " dimensions");
  view.place = place_in(view, offset, storage);
  return view;
}

/// Returns the piece of a distributed tensor that this file stores.
std::optional<TensorView> piece_in(const Pickle& pickle, const LocalTensor& local, const Storages& storages) {
  const bool is_tensor = local.tensor != no_node && pickle[local.tensor].kind == PickleKind::call &&
                         made_by(pickle, local.tensor).function != wrapper_subclass;
  auto view = is_tensor ? tensor_in(pickle, local.tensor, storages) : std::nullopt;
  if (!view) refuse_tensor("a distributed tensor without a local one", "one that torch has saved");
  view->global_shape = local.global_shape;
  view->piece = local.piece;
  return view;
}

/// Returns a piece without elements, after the tensor's last ones.
TensorView nothing_of(const LocalTensor& local) {
  TensorView view;
  view.dtype = *local.dtype;
  view.shape = local.global_shape;
  if (!view.shape.empty()) view.shape[0] = 0;
  view.strides = row_major_strides(view.shape);
  view.global_shape = local.global_shape;
  view.piece = local.piece;
  return view;
}

std::optional<TensorView> dtensor_in(const Pickle& pickle, const RebuildCall& made, const Storages& storages) {
  if (!made.type.ends_with(".DTensor") || made.state == no_node) refuse_function(made);
  const Shape shape = shape_at(pickle, items_of(pickle, made, 3)[2], "a global shape");
  return piece_in(pickle, local_of_dtensor(pickle, made.state, shape), storages);
}

}  // namespace

StorageName storage_name(const Pickle& pickle, PickleId persistent) {
  const PickleNode& node = pickle[persistent];
  const PickleNode* const key = node.kind == PickleKind::persistent ? &pickle[node.arguments] : nullptr;
  if (key == nullptr || key->kind != PickleKind::tuple || key->items.size() < 5 ||
      pickle[key->items[2]].kind != PickleKind::text)
    refuse_tensor("a storage of another form", "(\"storage\", type, key, location, elements)");
  return {pickle[key->items[2]].text, pickle.name_of(key->items[1])};
}

StorageClaim storage_claim(const Pickle& pickle, PickleId persistent) {
  const StorageName name = storage_name(pickle, persistent);
  const auto dtype = storage_type(name.type);
  if (!dtype)
    refuse_tensor("a storage of type " + std::string(name.type), "elements of whole bytes that are not quantised", "");
  const PickleId elements = pickle[pickle[persistent].arguments].items[4];
  return {name.key, *dtype, count_at(pickle, elements, "a storage's number of elements")};
}

TensorView whole_storage(const Pickle& pickle, PickleId persistent, const Storages& storages) {
  const StorageClaim claim = storage_claim(pickle, persistent);
  TensorView view;
  view.dtype = claim.dtype;
  view.shape = {claim.elements};
  view.strides = {1};
  view.place = place_of(claim, storages);
  return view;
}

std::optional<TensorView> tensor_in(const Pickle& pickle, PickleId id, const Storages& storages) {
  PickleId state = no_node;
  for (int i = 0; i < most_wrappers; ++i) {
    if (pickle[id].kind != PickleKind::call) return std::nullopt;
    RebuildCall made = made_by(pickle, id);
    if (made.function.empty()) return std::nullopt;
    if (made.type.ends_with(".ShardedTensor") && made.state != no_node) {
      const LocalTensor local = local_of_sharded_tensor(pickle, made.state);
      return local.tensor == no_node ? nothing_of(local) : piece_in(pickle, local, storages);
    }
    if (made.function == wrapper_subclass) return dtensor_in(pickle, made, storages);
    if (made.state != no_node) state = made.state;
    const auto form = rebuild_form(made.function);
    if (!form) refuse_function(made);
    const auto& arguments = items_of(pickle, made, form->arguments);
    if (form->is_wrapper) {
      if (arguments.size() > parameter_state) state = arguments[parameter_state];
      id = arguments.front();
      continue;
    }
    std::optional<DType> dtype;
    if (form->has_dtype) {
      const std::string_view type = pickle.name_of(arguments[6]);
      dtype = element_type(type);
      if (!dtype)
        refuse_tensor("elements of type " + std::string(type), "a dtype of torch whose elements fill whole bytes", "");
    }
    check_flags(pickle, arguments, form->has_dtype ? 7 : 6);
    TensorView view = make_view(pickle, arguments, dtype, storages);
    view.state = state;
    return view;
  }
  refuse_tensor("a tensor in more than 8 others", "fewer");
}

}  // namespace ckpt::torch
