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
  } catch (const Ended&) {
    return 0;
  }
  pickle_.root_ = pop();
  return at_;
}

/// Runs one opcode; returns false if it was the last.
bool PickleMachine::step() {
  const auto opcode = static_cast<unsigned>(little(1));
  switch (opcode) {
    case '.':
      return false;
    case 0x80:  // PROTO
      pickle_.protocol_ = static_cast<unsigned>(little(1));
      if (pickle_.protocol_ > newest_protocol)
        refuse_pickle("protocol " + std::to_string(pickle_.protocol_), "at most " + std::to_string(newest_protocol));
      return true;
    case 0x95:  // FRAME: a hint for reading ahead
      little(8);
      return true;
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '0':
      pop();
      return true;
    case '1':
      to_mark();
      return true;
    case '2':
      push_again(top());
      return true;
    default:
      if (step_value(opcode) || step_text(opcode) || step_container(opcode) || step_memo(opcode) || step_object(opcode))
        return true;
      refuse_pickle("opcode " + hex(opcode), "those that torch.save writes");
  }
}

bool PickleMachine::step_value(unsigned opcode) {
  switch (opcode) {
    case 'N':
      push({});
      return true;
    case 0x88:
    case 0x89: {
      PickleNode node = node_of(PickleKind::boolean);
      node.number = opcode == 0x88 ? 1 : 0;
      push_known(booleans_[static_cast<std::size_t>(node.number)], std::move(node));
      return true;
    }
    case 'J':
      push_integer(static_cast<std::int32_t>(little(4)));
      return true;
    case 'K':
      push_integer(static_cast<std::int64_t>(little(1)));
      return true;
    case 'M':
      push_integer(static_cast<std::int64_t>(little(2)));
      return true;
    case 0x8a:  // LONG1
      push_long(little(1));
      return true;
    case 0x8b:  // LONG4
      push_long(little(4));
      return true;
    case 'G': {  // big-endian, unlike everything else
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
    case 'X':
    case 'T':  // from Python 2, whose texts were bytes
      push_bytes(PickleKind::text, opcode, little(4));
      return true;
    case 0x8c:
    case 'U':
      push_bytes(PickleKind::text, opcode, little(1));
      return true;
    case 0x8d:
      push_bytes(PickleKind::text, opcode, little(8));
      return true;
    case 'C':
      push_bytes(PickleKind::bytes, opcode, little(1));
      return true;
    case 'B':
      push_bytes(PickleKind::bytes, opcode, little(4));
      return true;
    case 0x8e:
    case 0x96:  // BINBYTES8, BYTEARRAY8
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
    case ')':
      return with(PickleKind::tuple, {});
    case ']':
      return with(PickleKind::list, {});
    case '}':
      return with(PickleKind::dict, {});
    case 0x8f:
      return with(PickleKind::set, {});
    case 't':
      return with(PickleKind::tuple, to_mark());
    case 0x91:  // FROZENSET
      return with(PickleKind::set, to_mark());
    case 0x85:
    case 0x86:
    case 0x87:
      push_tuple(opcode - 0x84);
      return true;
    case 'a':
      append({pop()});
      return true;
    case 'e':
    case 0x90:  // APPENDS, ADDITEMS
      append(to_mark());
      return true;
    case 's': {
      const PickleId value = pop();
      insert({pop(), value});
      return true;
    }
    case 'u':
      insert(to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_memo(unsigned opcode) {
  switch (opcode) {
    case 'q':
      remember(little(1));
      return true;
    case 'r':
      remember(little(4));
      return true;
    case 0x94:  // MEMOIZE
      remember(memorised_);
      return true;
    case 'h':
      recall(little(1));
      return true;
    case 'j':
      recall(little(4));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_object(unsigned opcode) {
  switch (opcode) {
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleNode& name = pickle_[pop()];
      const PickleNode& module = pickle_[pop()];
      if (name.kind != PickleKind::text || module.kind != PickleKind::text)
        refuse_pickle("a global that is no text", "a module and a name");
      push_global(module.text, name.text);
      return true;
    }
    case 'R':
    case 0x81:  // REDUCE, NEWOBJ
    case newobj_ex:
      call(opcode);
      return true;
    case 'b':
      build();
      return true;
    case 'Q': {  // BINPERSID
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
