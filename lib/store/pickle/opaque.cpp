#include "store/pickle/opaque.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace ckpt::torch {

namespace {

// FNV-1a.
constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;
constexpr std::uint64_t fnv_prime = 0x100000001b3;

/// An object is read, put into a tree that grows by doubling, and sent by a child; then it is parsed, and put into the
/// form of a file.
constexpr std::uint64_t memory_per_object_byte = 8;
constexpr std::uint64_t child_memory_per_object_byte = 5;

}  // namespace

std::uint64_t most_object_bytes() {
  return memory_allowed() / memory_per_object_byte;
}

std::uint64_t memory_of_child(std::uint64_t object_bytes) {
  return std::min(object_bytes, most_object_bytes()) * child_memory_per_object_byte;
}

void check_object_bytes(std::uint64_t bytes) {
  if (const std::uint64_t most = most_object_bytes(); bytes > most)
    throw Error(Kind::input, "",
                {"found objects with tensors of " + format_bytes(bytes) + " that have no names",
                 "at most " + format_bytes(most) +
                     ", an eighth of the memory that a process may have, as they are carried as a whole",
                 "take a machine with more memory, or write HDF5 or safetensors, which leave objects out"});
}

OpaqueSurvey::OpaqueSurvey(const Pickle& pickle, const Storages& storages)
    : pickle_(pickle), storages_(storages), seen_in_(pickle.nodes().size(), 0) {}

void OpaqueSurvey::add(std::uint64_t number) noexcept {
  for (int i = 0; i < 8; ++i) {
    found_.digest = (found_.digest ^ (number & 0xffU)) * fnv_prime;
    number >>= 8U;
  }
}

void OpaqueSurvey::add(std::string_view text) noexcept {
  add(text.size());
  for (const char c : text) found_.digest = (found_.digest ^ static_cast<unsigned char>(c)) * fnv_prime;
}

std::optional<Interval> OpaqueSurvey::storage(PickleId persistent) const {
  const PickleNode& node = pickle_[persistent];
  if (node.kind != PickleKind::persistent) return std::nullopt;
  const PickleNode& key = pickle_[node.arguments];
  if (key.kind != PickleKind::tuple || key.items.size() < 5 || pickle_[key.items[2]].kind != PickleKind::text)
    return std::nullopt;
  const auto place = storages_.find(pickle_[key.items[2]].text);
  if (place == storages_.end()) return std::nullopt;
  return place->second;
}

Opaque OpaqueSurvey::of(PickleId value) {
  found_ = {fnv_basis, 0};
  ++value_;
  to_visit_.assign(1, value);
  while (!to_visit_.empty()) {
    const PickleId id = to_visit_.back();
    to_visit_.pop_back();
    look(id);
  }
  return found_;
}

void OpaqueSurvey::look(PickleId id) {
  const PickleNode& node = pickle_[id];
  add(static_cast<std::uint64_t>(node.kind));
  if (node.kind >= PickleKind::tuple) {
    if (seen_in_[id] == value_) return;
    seen_in_[id] = value_;
  }
  if (const auto place = storage(id)) {
    found_.storage_bytes += place->size();
    add(place->size());
    return to_visit_.push_back(pickle_[node.arguments].items[1]);
  }
  add(static_cast<std::uint64_t>(node.number));
  add(node.text);
  add(node.items.size());
  to_visit_.insert(to_visit_.end(), node.items.rbegin(), node.items.rend());
  for (const PickleId part : {node.state, node.arguments, node.function})
    if (part != no_node) to_visit_.push_back(part);
}

}  // namespace ckpt::torch
