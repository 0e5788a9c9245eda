#include <utility>

#include "base/error.hpp"
#include "store/pickle/little_endian.hpp"
#include "store/pickle/pickle_machine.hpp"

// The actions of the opcodes.
namespace ckpt::torch {

void refuse_pickle(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "its pickle",
              {"found " + found, expected, "is the file damaged, or written by something else?"});
}

std::string_view PickleMachine::bytes(std::uint64_t count) {
  if (count > all_.size() - at_) throw EndOfInput();
  const std::string_view taken = all_.substr(at_, count);
  at_ += count;
  return taken;
}

std::string_view PickleMachine::line() {
  const std::size_t end = all_.find('\n', at_);
  if (end == std::string_view::npos) throw EndOfInput();
  const std::string_view taken = bytes(end - at_);
  ++at_;
  return taken;
}

std::uint64_t PickleMachine::little(std::size_t count) {
  return little_endian(bytes(count));
}

PickleId PickleMachine::push(PickleNode node) {
  const PickleId id = pickle_.add(std::move(node));
  stack_.push_back(id);
  return id;
}

/// Values below a mark belong to the context in which the mark was set.
PickleId PickleMachine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
    refuse_pickle("an opcode that takes a value where there is none", "values before it");
  return stack_.back();
}

PickleId PickleMachine::pop() {
  const PickleId id = top();
  stack_.pop_back();
  return id;
}

std::vector<PickleId> PickleMachine::to_mark() {
  if (marks_.empty()) refuse_pickle("an opcode that takes values up to a mark", "a mark before it");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleId> taken(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return taken;
}

void PickleMachine::push_integer(std::int64_t number) {
  PickleNode node = node_of(PickleKind::integer);
  node.number = number;
  const auto at = static_cast<std::uint64_t>(number);
  if (at < small_integers_.size()) return push_known(small_integers_[at], std::move(node));
  push(std::move(node));
}

void PickleMachine::push_known(PickleId& known, PickleNode node) {
  if (known != no_node) return push_again(known);
  known = push(std::move(node));
}

/// Pushes an integer of `count` bytes in two's complement.
void PickleMachine::push_long(std::uint64_t count) {
  const std::string_view taken = bytes(count);
  if (count > sizeof(std::uint64_t)) {
    PickleNode node = node_of(PickleKind::large_integer);
    node.text = taken;
    push(std::move(node));
    return;
  }
  const bool is_negative = count > 0 && (static_cast<unsigned char>(taken.back()) & 0x80U) != 0;
  push_integer(static_cast<std::int64_t>(little_endian(taken, is_negative ? ~std::uint64_t{0} : 0)));
}

void PickleMachine::push_bytes(PickleKind kind, unsigned opcode, std::uint64_t count) {
  PickleNode node = node_of(kind, opcode);
  node.text = bytes(count);
  push(std::move(node));
}

void PickleMachine::push_tuple(std::size_t count) {
  PickleNode node = node_of(PickleKind::tuple);
  node.items.resize(count);
  for (std::size_t i = count; i-- > 0;) node.items[i] = pop();
  push(std::move(node));
}

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  PickleNode node = node_of(PickleKind::global);
  node.text = pickle_.keep(std::string(module) + "." + std::string(name));
  node.number = static_cast<std::int64_t>(module.size());
  push(std::move(node));
}

void PickleMachine::append(const std::vector<PickleId>& items) {
  PickleNode& to = pickle_.nodes_[top()];
  const bool is_list =
      to.kind == PickleKind::list || to.kind == PickleKind::set || (to.kind == PickleKind::call && !to.has_pairs);
  if (!is_list) refuse_pickle("an item for what is no list", "a list or an object before it");
  to.items.insert(to.items.end(), items.begin(), items.end());
}

void PickleMachine::insert(const std::vector<PickleId>& items) {
  PickleNode& to = pickle_.nodes_[top()];
  const bool is_dict =
      to.kind == PickleKind::dict || (to.kind == PickleKind::call && (to.has_pairs || to.items.empty()));
  if (!is_dict || items.size() % 2 != 0) refuse_pickle("a key for what is no dict", "a dict or an object before it");
  to.has_pairs = true;
  to.items.insert(to.items.end(), items.begin(), items.end());
}

void PickleMachine::remember(std::uint64_t index) {
  // Picklers count up: an index is below the number of opcodes, each of which takes a byte.
  if (index >= all_.size()) refuse_pickle("memo " + std::to_string(index), "a number below that of its bytes");
  if (index >= memo_.size()) memo_.resize(index + 1, no_node);
  if (memo_[index] == no_node) ++memorised_;
  memo_[index] = top();
}

void PickleMachine::recall(std::uint64_t index) {
  if (index >= memo_.size() || memo_[index] == no_node)
    refuse_pickle("memo " + std::to_string(index) + ", which was never set", "one that was");
  push_again(memo_[index]);
}

/// Keyword arguments become the last argument: none of those that torch saves matter.
void PickleMachine::call(unsigned opcode) {
  PickleNode node = node_of(PickleKind::call, opcode);
  if (opcode == op::newobj_ex) push_tuple(2);
  node.arguments = pop();
  node.function = pop();
  push(std::move(node));
}

void PickleMachine::build() {
  const PickleId state = pop();
  PickleNode& to = pickle_.nodes_[top()];
  if (to.kind != PickleKind::call || to.state != no_node)
    refuse_pickle("a state for what has none", "an object before it");
  to.state = state;
}

}  // namespace ckpt::torch
