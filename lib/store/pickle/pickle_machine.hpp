#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "store/pickle/pickle.hpp"

namespace ckpt::torch {

/// Throws input: the pickle has `found`, not `expected`.
[[noreturn]] void refuse_pickle(const std::string& found, const std::string& expected);

inline PickleNode node_of(PickleKind kind, unsigned opcode = 0) {
  PickleNode node;
  node.kind = kind;
  node.opcode = static_cast<std::uint8_t>(opcode);
  return node;
}

/// The stack machine that executes a pickle. Each opcode creates one node at most, and nothing recurses, so that
/// neither deep nor repeated contents cost more than their bytes.
class PickleMachine {
 public:
  explicit PickleMachine(std::string_view bytes);

  /// Runs to the end of the pickle, and returns the number of its bytes; 0 if the bytes end before it does. Throws
  /// input.
  std::size_t run();
  /// Returns the contents; call it once, after `run`.
  Pickle take() { return std::move(pickle_); }

 private:
  struct EndOfInput {};  // the input has ended

  bool step();
  bool step_value(unsigned opcode);
  bool step_text(unsigned opcode);
  bool step_container(unsigned opcode);
  bool step_memo(unsigned opcode);
  bool step_object(unsigned opcode);

  std::string_view bytes(std::uint64_t count);
  std::string_view line();
  std::uint64_t little(std::size_t count);

  PickleId push(PickleNode node);
  void push_again(PickleId id) { stack_.push_back(id); }
  PickleId pop();
  PickleId top() const;
  std::vector<PickleId> to_mark();

  void push_integer(std::int64_t number);
  void push_known(PickleId& known, PickleNode node);
  void push_long(std::uint64_t count);
  void push_bytes(PickleKind kind, unsigned opcode, std::uint64_t count);
  void push_tuple(std::size_t count);
  void push_global(std::string_view module, std::string_view name);
  void append(const std::vector<PickleId>& items);
  void insert(const std::vector<PickleId>& items);
  void remember(std::uint64_t index);
  void recall(std::uint64_t index);
  void call(unsigned opcode);
  void build();

  Pickle pickle_;
  std::string_view all_;
  std::size_t at_ = 0;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleId> memo_;  // no_node: the entry is unused
  // Frequent values without parts, each one shared node: they are half of the arguments of a tensor's call.
  std::array<PickleId, 256> small_integers_;
  std::array<PickleId, 2> booleans_;
  std::uint64_t memorised_ = 0;  // number of entries in use
};

}  // namespace ckpt::torch
