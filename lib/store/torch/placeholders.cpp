#include "store/torch/placeholders.hpp"

#include <algorithm>

#include "store/torch/branches.hpp"

namespace ckpt::torch {

namespace {

/// Returns whether a node is torch.Size([0]), the size of a parameter without elements.
bool is_empty_size(const Pickle& pickle, PickleId id) {
  if (!pickle.is_call_of(id, "torch.Size")) return false;
  const auto& arguments = pickle[pickle[id].arguments].items;
  if (arguments.size() != 1) return false;
  const auto& extents = pickle[arguments.front()].items;
  return std::any_of(extents.begin(), extents.end(), [&](PickleId extent) { return pickle[extent].number == 0; });
}

std::vector<Branch> branches_at(const Pickle& pickle, PickleId id) {
  return id != no_node && is_container(pickle, id) ? branches_of(pickle, id) : std::vector<Branch>();
}

bool is_empty_tensor(const Pickle& pickle, PickleId id, const Storages& storages) {
  const auto view = id == no_node ? std::nullopt : tensor_in(pickle, id, storages);
  return view && numel(view->shape) == 0;
}

}  // namespace

Placeholders::Placeholders(const Pickle& pickle, const Storages& storages) {
  const PickleId root = pickle.root();
  const PickleId weights = pickle.value_of(root, "module");
  if (weights == no_node) return;
  for (const Branch& group : branches_at(pickle, pickle.value_of(root, "param_shapes")))
    for (const Branch& each : branches_at(pickle, group.value))
      if (!stand_for_weights_ && !is_empty_size(pickle, each.value))
        stand_for_weights_ = is_empty_tensor(pickle, pickle.value_of(weights, each.key), storages);
  if (!stand_for_weights_) return;
  for (const Branch& buffer : branches_at(pickle, pickle.value_of(root, "buffer_names")))
    empty_ones_.insert(folder + std::string(pickle[buffer.value].text));
  for (const Branch& frozen : branches_at(pickle, pickle.value_of(root, "frozen_param_shapes")))
    if (is_empty_size(pickle, frozen.value)) empty_ones_.insert(folder + frozen.key);
}

}  // namespace ckpt::torch
