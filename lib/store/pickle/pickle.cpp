#include "store/pickle/pickle.hpp"

#include <algorithm>
#include <unordered_map>

#include "store/pickle/pickle_machine.hpp"

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

PickleId Pickle::append(const Pickle& other) {
  const auto first = static_cast<PickleId>(nodes_.size());
  const auto shift = [&](PickleId& id) {
    if (id != no_node) id += first;
  };
  for (PickleNode node : other.nodes_) {
    for (PickleId* const each : {&node.function, &node.arguments, &node.state}) shift(*each);
    for (PickleId& item : node.items) shift(item);
    add(std::move(node));
  }
  protocol_ = std::max(protocol_, other.protocol_);
  PickleId root = other.root_;
  shift(root);
  return root;
}

Pickle Pickle::part(PickleId id) const {
  Pickle result(protocol_);
  std::unordered_map<PickleId, PickleId> known;
  std::vector<PickleId> found;  // by their new ids
  const auto number = [&](PickleId& old) {
    if (old == no_node) return;
    const auto [place, is_new] = known.try_emplace(old, static_cast<PickleId>(found.size()));
    if (is_new) found.push_back(old);
    old = place->second;
  };
  number(id);
  for (std::size_t next = 0; next < found.size(); ++next) {
    PickleNode node = nodes_[found[next]];
    for (PickleId* const each : {&node.function, &node.arguments, &node.state}) number(*each);
    for (PickleId& item : node.items) number(item);
    result.add(std::move(node));
  }
  result.set_root(id);
  return result;
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
