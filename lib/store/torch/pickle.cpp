#include "store/torch/pickle.hpp"

#include "store/torch/pickle_machine.hpp"

namespace ckpt::torch {

std::optional<Pickle> Pickle::read(std::string_view bytes, std::size_t& at) {
  PickleMachine machine(bytes.substr(at));
  const std::size_t taken = machine.run();
  if (taken == 0) return std::nullopt;
  at += taken;
  return machine.take();
}

PickleId Pickle::add(PickleNode node) {
  const auto id = static_cast<PickleId>(nodes_.size());
  if (id == no_node) refuse_pickle("2^32 values", "fewer");
  nodes_.push_back(std::move(node));
  return id;
}

std::string_view Pickle::name_of(PickleId id) const {
  const PickleNode& node = nodes_[id];
  if (node.kind == PickleKind::global) return node.text;
  if (node.kind != PickleKind::call || nodes_[node.function].kind != PickleKind::global) return {};
  return nodes_[node.function].text;
}

PickleId Pickle::value_of(PickleId dict, std::string_view key) const {
  const PickleNode& node = nodes_[dict];
  if (node.kind != PickleKind::dict && !node.has_pairs) return no_node;
  for (std::size_t i = 0; i + 1 < node.items.size(); i += 2)
    if (const PickleNode& each = nodes_[node.items[i]]; each.kind == PickleKind::text && each.text == key)
      return node.items[i + 1];
  return no_node;
}

}  // namespace ckpt::torch
