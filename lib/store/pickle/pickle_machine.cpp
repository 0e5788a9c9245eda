#include "store/pickle/pickle_machine.hpp"

#include <algorithm>
#include <utility>

namespace ckpt::torch {

namespace {

constexpr unsigned newest_protocol = 5;

std::string hex(unsigned opcode) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'0', 'x', digits[opcode >> 4U], digits[opcode & 15U]};
}

}  // namespace

PickleMachine::PickleMachine(std::string_view bytes) : all_(bytes) {
  small_integers_.fill(no_node);
  booleans_.fill(no_node);
}

std::size_t PickleMachine::run() {
  try {
    while (step()) {
    }
  } catch (const EndOfInput&) {
    return 0;
  }
  pickle_.root_ = pop();
  return at_;
}

/// Runs one opcode; returns false if it was the last.
bool PickleMachine::step() {
  const auto opcode = static_cast<unsigned>(little(1));
  switch (opcode) {
    case op::stop:
      return false;
    case op::proto:
      pickle_.protocol_ = static_cast<unsigned>(little(1));
      if (pickle_.protocol_ > newest_protocol)
        refuse_pickle("protocol " + std::to_string(pickle_.protocol_), "at most " + std::to_string(newest_protocol));
      return true;
    case op::frame:  // a hint for reading ahead
      little(8);
      return true;
    case op::mark:
      marks_.push_back(stack_.size());
      return true;
    case op::pop:
      pop();
      return true;
    case op::pop_mark:
      to_mark();
      return true;
    case op::dup:
      push_again(top());
      return true;
    default:
      if (step_value(opcode) || step_text(opcode) || step_container(opcode) || step_memo(opcode) || step_object(opcode))
        return true;
      refuse_pickle("opcode " + hex(opcode), "those that torch.save and paddle.save write");
  }
}

bool PickleMachine::step_value(unsigned opcode) {
  switch (opcode) {
    case op::none:
      push({});
      return true;
    case op::newtrue:
    case op::newfalse: {
      PickleNode node = node_of(PickleKind::boolean);
      node.number = opcode == op::newtrue ? 1 : 0;
      push_known(booleans_[static_cast<std::size_t>(node.number)], std::move(node));
      return true;
    }
    case op::binint:
      push_integer(static_cast<std::int32_t>(little(4)));
      return true;
    case op::binint1:
      push_integer(static_cast<std::int64_t>(little(1)));
      return true;
    case op::binint2:
      push_integer(static_cast<std::int64_t>(little(2)));
      return true;
    case op::long1:
      push_long(little(1));
      return true;
    case op::long4:
      push_long(little(4));
      return true;
    case op::binfloat: {  // big-endian, unlike everything else
      PickleNode node = node_of(PickleKind::real);
      node.number = static_cast<std::int64_t>(__builtin_bswap64(little(8)));
      push(std::move(node));
      return true;
    }
    default:
      return false;
  }
}

bool PickleMachine::step_text(unsigned opcode) {
  switch (opcode) {
    case op::binunicode:
    case op::binstring:  // from Python 2, whose texts were bytes
      push_bytes(PickleKind::text, opcode, little(4));
      return true;
    case op::short_binunicode:
    case op::short_binstring:
      push_bytes(PickleKind::text, opcode, little(1));
      return true;
    case op::binunicode8:
      push_bytes(PickleKind::text, opcode, little(8));
      return true;
    case op::short_binbytes:
      push_bytes(PickleKind::bytes, opcode, little(1));
      return true;
    case op::binbytes:
      push_bytes(PickleKind::bytes, opcode, little(4));
      return true;
    case op::binbytes8:
    case op::bytearray8:
      push_bytes(PickleKind::bytes, opcode, little(8));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_container(unsigned opcode) {
  const auto with = [&](PickleKind kind, std::vector<PickleId> items) {
    PickleNode node = node_of(kind, opcode);
    node.items = std::move(items);
    push(std::move(node));
    return true;
  };
  switch (opcode) {
    case op::empty_tuple:
      return with(PickleKind::tuple, {});
    case op::empty_list:
      return with(PickleKind::list, {});
    case op::empty_dict:
      return with(PickleKind::dict, {});
    case op::empty_set:
      return with(PickleKind::set, {});
    case op::tuple:
      return with(PickleKind::tuple, to_mark());
    case op::frozenset:
      return with(PickleKind::set, to_mark());
    case op::tuple1:
    case op::tuple2:
    case op::tuple3:
      push_tuple(opcode - op::tuple1 + 1);
      return true;
    case op::append:
      append({pop()});
      return true;
    case op::appends:
    case op::additems:
      append(to_mark());
      return true;
    case op::setitem: {
      const PickleId value = pop();
      insert({pop(), value});
      return true;
    }
    case op::setitems:
      insert(to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_memo(unsigned opcode) {
  switch (opcode) {
    case op::binput:
      remember(little(1));
      return true;
    case op::long_binput:
      remember(little(4));
      return true;
    case op::memoize:
      remember(memorised_);
      return true;
    case op::binget:
      recall(little(1));
      return true;
    case op::long_binget:
      recall(little(4));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_object(unsigned opcode) {
  switch (opcode) {
    case op::global: {
      const std::string_view module = line();
      push_global(module, line());
      return true;
    }
    case op::stack_global: {
      const PickleNode& name = pickle_[pop()];
      const PickleNode& module = pickle_[pop()];
      if (name.kind != PickleKind::text || module.kind != PickleKind::text)
        refuse_pickle("a global that is no text", "a module and a name");
      push_global(module.text, name.text);
      return true;
    }
    case op::reduce:
    case op::newobj:
    case op::newobj_ex:
      call(opcode);
      return true;
    case op::build:
      build();
      return true;
    case op::binpersid: {
      PickleNode node = node_of(PickleKind::persistent);
      node.arguments = pop();
      push(std::move(node));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace ckpt::torch
