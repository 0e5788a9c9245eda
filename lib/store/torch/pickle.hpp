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

/// A node's number in its Pickle.
using PickleId = std::uint32_t;
inline constexpr PickleId no_node = ~PickleId{0};

enum class PickleKind : std::uint8_t {
  // What has no parts comes first.
  none,
  boolean,
  integer,  ///< that fits into 64 bits with a sign
  large_integer,
  real,
  text,
  bytes,
  global,  ///< a name in a module: a class or a function
  tuple,
  list,
  dict,
  set,
  call,        ///< what a function makes of arguments, or a class; what was put into it afterwards
  persistent,  ///< what the writer keeps elsewhere: a storage
};

struct PickleNode {
  PickleKind kind = PickleKind::none;
  bool has_pairs = false;            ///< of a dict or call: its items are key, value, key, value
  std::uint8_t opcode = 0;           ///< of a text, bytes, set or call: the one that made it, where there are several
  PickleId function = no_node;       ///< of a call
  PickleId arguments = no_node;      ///< of a call, and what a persistent one is known by
  PickleId state = no_node;          ///< of a call
  std::int64_t number = 0;           ///< of a boolean, an integer, the bits of a real; of a global: its module's length
  std::string_view text = {};        ///< of a text, bytes; of a global: "torch._utils._rebuild_tensor_v2"
  std::vector<PickleId> items = {};  ///< of a container or call

  double real() const noexcept { return std::bit_cast<double>(number); }
};

/// What a pickle says, written down and not done: no name in it is looked up, and nothing is made or called. Nodes may
/// be shared, and may contain themselves.
class Pickle {
 public:
  /// Reads the pickle that begins at `at`, and leaves `at` behind its end; nothing where `bytes` end before it does.
  /// Takes time and memory in proportion to its bytes. The bytes must outlive the result. Throws input for what no
  /// pickler writes, and for opcodes that torch.save does not use.
  /// https://github.com/python/cpython, Lib/pickletools.py
  static std::optional<Pickle> read(std::string_view bytes, std::size_t& at);

  /// With nothing in it, to be filled.
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

  /// To change what it says. What is added takes a text's bytes from `keep`, which lie as long as the result does.
  PickleNode& change(PickleId id) { return nodes_[id]; }
  PickleId add(PickleNode node);
  std::string_view keep(std::string text) { return names_.emplace_back(std::move(text)); }
  void set_root(PickleId id) noexcept { root_ = id; }
  /// Adds all of another one, which must outlive this one, and gives its root's number here.
  PickleId append(const Pickle& other);

  /// What one of its nodes says, by itself; this one must outlive it.
  Pickle part(PickleId id) const;

  /// The name that a global is, or that the function of a call is; empty for anything else.
  std::string_view name_of(PickleId id) const;
  bool is_call_of(PickleId id, std::string_view name) const {
    return nodes_[id].kind == PickleKind::call && name_of(id) == name;
  }
  /// The value of a dict's text key, or no_node.
  PickleId value_of(PickleId dict, std::string_view key) const;

 private:
  friend class PickleMachine;

  std::deque<PickleNode> nodes_;   // which never holds them twice, as a vector does that grows
  std::deque<std::string> names_;  // that globals, and what was added, point into
  PickleId root_ = no_node;
  unsigned protocol_ = 2;
};

}  // namespace ckpt::torch
