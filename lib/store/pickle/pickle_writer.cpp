#include "store/pickle/pickle_writer.hpp"

#include <bit>
#include <limits>

#include "base/error.hpp"
#include "store/pickle/pickle_machine.hpp"

namespace ckpt::torch {

namespace {

/// Python's readers give up at 1,000 nested calls.
constexpr int most_levels_of_values = 900;

}  // namespace

PickleWriter::PickleWriter(unsigned protocol) {
  opcode(op::proto);
  little(protocol, 1);
}

void PickleWriter::little(std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) bytes_ += static_cast<char>(number >> 8 * i);
}

void PickleWriter::integer(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  if (bits <= std::numeric_limits<std::uint8_t>::max()) {
    opcode(op::binint1);
    little(bits, 1);
  } else if (bits <= std::numeric_limits<std::uint16_t>::max()) {
    opcode(op::binint2);
    little(bits, 2);
  } else if (number == static_cast<std::int32_t>(number)) {
    opcode(op::binint);
    little(bits, 4);
  } else {
    opcode(op::long1);
    little(8, 1);
    little(bits, 8);
  }
}

void PickleWriter::large_integer(std::string_view in_twos_complement) {
  opcode(op::long4);
  little(in_twos_complement.size(), 4);
  bytes_ += in_twos_complement;
}

void PickleWriter::real(double number) {
  opcode(op::binfloat);
  little(__builtin_bswap64(std::bit_cast<std::uint64_t>(number)), 8);
}

void PickleWriter::sized(unsigned char code, std::string_view bytes) {
  const bool is_byte = code == op::short_binunicode || code == op::short_binstring || code == op::short_binbytes;
  const bool is_long = code == op::binunicode8 || code == op::binbytes8 || code == op::bytearray8;
  opcode(code);
  little(bytes.size(), is_byte ? 1 : is_long ? 8 : 4);
  bytes_ += bytes;
}

void PickleWriter::room_for_bytes(std::uint64_t count) {
  opcode(op::binbytes8);
  little(count, 8);
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  if (module.find('\n') != std::string_view::npos || name.find('\n') != std::string_view::npos)
    refuse_pickle("a name of two lines", "one of one");
  const std::string lines = std::string(module) + '\n' + std::string(name);
  if (const auto known = words_.find(lines); known != words_.end()) return recall(known->second);
  opcode(op::global);
  bytes_ += lines;
  bytes_ += '\n';
  words_.emplace(lines, remember());
}

void PickleWriter::word(std::string_view utf8) {
  if (const auto known = words_.find(utf8); known != words_.end()) return recall(known->second);
  text(utf8);
  words_.emplace(utf8, remember());
}

void PickleWriter::numbers(const Shape& values) {
  if (values.empty()) return opcode(op::empty_tuple);
  if (values.size() > 3) opcode(op::mark);
  for (const std::uint64_t value : values) integer(static_cast<std::int64_t>(value));
  opcode(values.size() > 3 ? op::tuple : op::tuple_of(values.size()));
}

std::uint32_t PickleWriter::remember() {
  const std::uint32_t number = remembered_++;
  const bool is_small = number <= std::numeric_limits<std::uint8_t>::max();
  opcode(is_small ? op::binput : op::long_binput);
  little(number, is_small ? 1 : 4);
  return number;
}

void PickleWriter::recall(std::uint32_t number) {
  const bool is_small = number <= std::numeric_limits<std::uint8_t>::max();
  opcode(is_small ? op::binget : op::long_binget);
  little(number, is_small ? 1 : 4);
}

std::string PickleWriter::take() {
  opcode(op::stop);
  return std::move(bytes_);
}

PickleCopy::PickleCopy(const Pickle& from, PickleWriter& to, std::function<bool(PickleId)> is_written)
    : from_(from),
      to_(to),
      is_written_(std::move(is_written)),
      uses_(from.nodes().size(), 0),
      numbers_(from.nodes().size(), 0) {
  for (const PickleNode& node : from.nodes()) {
    for (const PickleId part : {node.function, node.arguments, node.state})
      if (part != no_node) ++uses_[part];
    for (const PickleId item : node.items) ++uses_[item];
  }
}

void PickleCopy::node(PickleId id) {
  if (numbers_[id] != 0) return to_.recall(numbers_[id] - 1);
  if (is_written_(id)) return;
  if (++level_ > most_levels_of_values) refuse_pickle("more than 900 values in one another", "fewer");
  switch (from_[id].kind) {
    case PickleKind::tuple:
    case PickleKind::list:
    case PickleKind::dict:
    case PickleKind::set:
      container(id);
      break;
    case PickleKind::call:
      call(id);
      break;
    case PickleKind::persistent:
      node(from_[id].arguments);
      to_.opcode(op::binpersid);
      break;
    case PickleKind::text:
    case PickleKind::bytes:
      to_.sized(from_[id].opcode, from_[id].text);
      remember(id);
      break;
    default:
      plain(from_[id]);
  }
  --level_;
}

/// Writes a value without parts.
void PickleCopy::plain(const PickleNode& node) {
  switch (node.kind) {
    case PickleKind::boolean:
      return to_.boolean(node.number != 0);
    case PickleKind::integer:
      return to_.integer(node.number);
    case PickleKind::large_integer:
      return to_.large_integer(node.text);
    case PickleKind::real:
      return to_.real(node.real());
    case PickleKind::global: {
      const auto module = static_cast<std::size_t>(node.number);
      return to_.global(node.text.substr(0, module), node.text.substr(module + 1));
    }
    default:
      return to_.opcode(op::none);
  }
}

/// Containers that are filled after their creation may contain themselves.
void PickleCopy::container(PickleId id) {
  const PickleNode& node = from_[id];
  if (node.kind == PickleKind::list || node.kind == PickleKind::dict) {
    to_.opcode(node.kind == PickleKind::list ? op::empty_list : op::empty_dict);
    remember(id);
    return items(node, op::setitems, op::appends);
  }
  if (node.opcode == op::empty_set) {
    to_.opcode(op::empty_set);
    remember(id);
    return items(node, op::setitems, op::additems);
  }
  const bool is_tuple = node.kind == PickleKind::tuple;
  if (is_tuple && node.items.empty()) return to_.opcode(op::empty_tuple);
  const bool is_short = is_tuple && node.items.size() <= 3;
  if (!is_short) to_.opcode(op::mark);
  nodes(node.items);
  to_.opcode(is_short ? op::tuple_of(node.items.size()) : is_tuple ? op::tuple : op::frozenset);
  remember(id);
}

void PickleCopy::call(PickleId id) {
  const PickleNode& made = from_[id];
  node(made.function);
  if (made.opcode == op::newobj_ex)
    nodes(from_[made.arguments].items);  // positional arguments, then keyword arguments
  else
    node(made.arguments);
  to_.opcode(made.opcode);
  remember(id);
  items(made, op::setitems, op::appends);
  if (made.state == no_node) return;
  node(made.state);
  to_.opcode(op::build);
}

void PickleCopy::items(const PickleNode& node, unsigned char in_pairs, unsigned char one_by_one) {
  if (node.items.empty()) return;
  to_.opcode(op::mark);
  nodes(node.items);
  to_.opcode(node.has_pairs ? in_pairs : one_by_one);
}

void PickleCopy::remember(PickleId id) {
  if (uses_[id] > 1) numbers_[id] = to_.remember() + 1;
}

void write_copy(std::string_view pickle, PickleWriter& to) {
  std::size_t at = 0;
  const auto from = Pickle::read(pickle, at);
  if (!from) throw Error(Kind::input, "", {"a pickle ends before its object does", "a whole one", ""});
  PickleCopy(*from, to, [](PickleId) { return false; }).node(from->root());
}

}  // namespace ckpt::torch
