#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/pickle/pickle.hpp"

/// How a tree branches: both its reader and its writer use this, so that they give its leaves the same names.
namespace ckpt::torch {

/// The limit on nested dicts. A list may contain itself,
inline constexpr int most_levels = 100;
/// and a pickle of 300 bytes may contain a list 2^60 times.
inline constexpr std::uint64_t most_visits = 10'000'000;

/// The name of a tensor that makes up a whole file.
inline constexpr const char* lone_tensor = "tensor";

/// The name of an object without tensors that makes up a whole file, such as training_args.bin.
inline constexpr const char* lone_object = "object";

inline constexpr const char* ordered_dict = "collections.OrderedDict";

struct Branch {
  std::string key;              ///< the key as used in names
  PickleId key_node = no_node;  ///< no_node for an item of a list
  PickleId value = no_node;
};

/// Returns whether a node holds others by key or in order: containers, and objects that are filled like them.
bool is_container(const Pickle& pickle, PickleId id);

/// Returns whether a node is a list of plain values that is too long for one attribute, or for one attribute each.
bool is_long_list(const Pickle& pickle, PickleId id);

/// Returns the contents of a container. Throws input for keys that cannot be names.
std::vector<Branch> branches_of(const Pickle& pickle, PickleId id);

/// "optimizer/state" and "0" → "optimizer/state/0".
std::string name_below(const std::string& path, const std::string& key);

/// Throws input if a tree is too deep, or holds too many values.
class TreeBounds {
 public:
  /// Counts the nodes that a walk from the root would visit, without texts. Looks at each node once, however often it
  /// is shared.
  static void check_values(const Pickle& pickle);
  void check_level(int level) const;
  /// Counts a visit to a node by this name.
  void visit(const PickleNode& node, const std::string& name);

 private:
  std::uint64_t visits_ = 0;
};

}  // namespace ckpt::torch
