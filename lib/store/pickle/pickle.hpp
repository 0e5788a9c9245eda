#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::torch {

/// Opcodes, by the names that Python's pickle gives them.
namespace op {
inline constexpr unsigned char mark = '(', stop = '.', pop = '0', pop_mark = '1', dup = '2', binint = 'J',
                               binint1 = 'K', binint2 = 'M', none = 'N', binpersid = 'Q', reduce = 'R',
                               binunicode = 'X', binstring = 'T', short_binstring = 'U', append = 'a', build = 'b',
                               global = 'c', empty_dict = '}', appends = 'e', binget = 'h', long_binget = 'j',
                               empty_list = ']', binput = 'q', long_binput = 'r', setitem = 's', tuple = 't',
                               empty_tuple = ')', setitems = 'u', binfloat = 'G', binbytes = 'B', short_binbytes = 'C',
                               proto = 0x80, newobj = 0x81, tuple1 = 0x85, tuple2 = 0x86, tuple3 = 0x87, newtrue = 0x88,
                               newfalse = 0x89, long1 = 0x8a, long4 = 0x8b, short_binunicode = 0x8c, binunicode8 = 0x8d,
                               binbytes8 = 0x8e, empty_set = 0x8f, additems = 0x90, frozenset = 0x91, newobj_ex = 0x92,
                               stack_global = 0x93, memoize = 0x94, frame = 0x95, bytearray8 = 0x96;
/// The one that makes a tuple of the last one, two or three values.
constexpr unsigned char tuple_of(std::size_t count) {
  return static_cast<unsigned char>(tuple1 + count - 1);
}
}  // namespace op

/// Limit on the open items of a tree's lists, which are None, between those that are filled.
inline constexpr std::size_t most_open_items = 1U << 16;

/// A node's number in its Pickle.
using PickleId = std::uint32_t;
inline constexpr PickleId no_node = ~PickleId{0};

enum class PickleKind : std::uint8_t {
  // Kinds without parts come first.
  none,
  boolean,
  integer,  ///< fits into 64 bits with a sign
  large_integer,
  real,
  text,
  bytes,
  global,  ///< a class or a function, by module and name
  tuple,
  list,
  dict,
  set,
  call,        ///< a function or class called with arguments, and what is put into the result afterwards
  persistent,  ///< an object that the writer stores elsewhere: a storage
};

struct PickleNode {
  PickleKind kind = PickleKind::none;
  bool has_pairs = false;            ///< of a dict or call: its items alternate between keys and values
  std::uint8_t opcode = 0;           ///< of a text, bytes, set or call: the opcode that made it, if there are several
  PickleId function = no_node;       ///< of a call
  PickleId arguments = no_node;      ///< of a call; of a persistent node: its id
  PickleId state = no_node;          ///< of a call
  std::int64_t number = 0;           ///< value of a boolean or an integer, bits of a real; of a global: its module's
                                     ///< length
  std::string_view text = {};        ///< of a text or bytes: the contents; of a global:
                                     ///< "torch._utils._rebuild_tensor_v2"
  std::vector<PickleId> items = {};  ///< of a container or call

  double real() const noexcept { return std::bit_cast<double>(number); }
};

/// The contents of a pickle, recorded but not executed: no name in it is looked up, and nothing is created or called.
/// Nodes may be shared, and may contain themselves.
class Pickle {
 public:
  /// Reads the pickle that begins at `at`, and moves `at` to its end; returns nothing if `bytes` end before it does.
  /// Takes time and memory in proportion to its bytes. The bytes must outlive the result. Throws input for anything
  /// that no pickler writes, and for opcodes that torch.save does not use.
  /// https://github.com/python/cpython, Lib/pickletools.py
  static std::optional<Pickle> read(std::string_view bytes, std::size_t& at);

  /// Creates an empty pickle, to be filled.
  explicit Pickle(unsigned protocol = 2) : protocol_(protocol) {}
  Pickle(const Pickle&) = delete;  // its nodes point into its own names
  Pickle& operator=(const Pickle&) = delete;
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;
  ~Pickle() = default;

  const PickleNode& operator[](PickleId id) const { return nodes_[id]; }
  PickleId root() const noexcept { return root_; }
  unsigned protocol() const noexcept { return protocol_; }
  const std::deque<PickleNode>& nodes() const noexcept { return nodes_; }

  /// These modify the contents. The text of an added node comes from `keep`, which stores it as long as the pickle
  /// lives.
  PickleNode& change(PickleId id) { return nodes_[id]; }
  PickleId add(PickleNode node);
  std::string_view keep(std::string text) { return names_.emplace_back(std::move(text)); }
  void set_root(PickleId id) noexcept { root_ = id; }
  /// Adds all nodes of another pickle, which must outlive this one, and returns the new number of its root.
  PickleId append(const Pickle& other);

  /// Returns one node, with everything below it, as a pickle of its own; this one must outlive it.
  Pickle part(PickleId id) const;

  /// Returns the name of a global, or of a call's function; empty for anything else.
  std::string_view name_of(PickleId id) const;
  bool is_call_of(PickleId id, std::string_view name) const {
    return nodes_[id].kind == PickleKind::call && name_of(id) == name;
  }
  /// Returns the value of a dict's text key, or no_node.
  PickleId value_of(PickleId dict, std::string_view key) const;

 private:
  friend class PickleMachine;

  std::deque<PickleNode> nodes_;   // a growing vector would hold them twice for a while
  std::deque<std::string> names_;  // globals and added nodes point into them
  PickleId root_ = no_node;
  unsigned protocol_ = 2;
};

}  // namespace ckpt::torch
