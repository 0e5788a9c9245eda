#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/torch/pickle.hpp"

/// How a tree branches, for those who read it and those who write it again: both give its leaves the same names.
namespace ckpt::torch {

/// Dicts in dicts. A list may hold itself,
inline constexpr int most_levels = 100;
/// and a pickle of 300 bytes may hold a list 2^60 times.
inline constexpr std::uint64_t most_visits = 10'000'000;

/// The name of the one tensor that is all of a file.
inline constexpr const char* lone_tensor = "tensor";

/// The name of the object without tensors that is all of a file, as training_args.bin has it.
inline constexpr const char* lone_object = "object";

inline constexpr const char* ordered_dict = "collections.OrderedDict";

struct Branch {
  std::string key;              ///< as names have it
  PickleId key_node = no_node;  ///< of an item of a list: none
  PickleId value = no_node;
};

/// Whether a node holds others by keys or in order: containers, and objects that are filled as such.
bool is_container(const Pickle& pickle, PickleId id);

/// Whether it is a list of numbers that is too long for one attribute, and for an attribute of each.
bool is_long_list(const Pickle& pickle, PickleId id);

/// What a container holds. Throws input for keys that are no names.
std::vector<Branch> branches_of(const Pickle& pickle, PickleId id);

/// "optimizer/state" and "0" → "optimizer/state/0".
std::string name_below(const std::string& path, const std::string& key);

/// Throws input where a tree is too deep, or comes to too many values.
class TreeBounds {
 public:
  /// Counts what a walk from the root would visit, but for the texts. Looks at each node once, however often it is
  /// shared.
  static void check_values(const Pickle& pickle);
  void check_level(int level) const;
  /// Counts a visit to a node under a name.
  void visit(const PickleNode& node, const std::string& name);

 private:
  std::uint64_t visits_ = 0;
};

}  // namespace ckpt::torch
