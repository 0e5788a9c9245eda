#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "store/torch/branches.hpp"
#include "store/torch/pickle.hpp"

namespace ckpt::torch {

/// Names of tensors.
using NameSet = std::unordered_set<std::string_view>;

/// A carried tree whose values are found by their names, taken out and put in.
class TreeEdit {
 public:
  /// All three must outlive it. What is no container becomes a dict.
  TreeEdit(Pickle& tree, const NameSet& tensors);

  bool has_tensor(const std::string& name) const { return found_.contains(name); }
  /// Whether a tensor, a container or another value of this name is in it.
  bool has(const std::string& name) const {
    return has_tensor(name) || values_.contains(name) || containers_.contains(name);
  }

  /// Puts a node in, below the containers that its name leads through; new ones are dicts. Throws input where something
  /// else has its name, or a list has no place for it.
  void put(const std::string& name, PickleId value);

 private:
  bool keep(const std::string& name, PickleId id, int level);
  void keep_items(const std::string& path, PickleId container, int level);
  PickleId deepest(const std::string& name, std::size_t& below) const;
  void put_into(PickleId container, const std::string& path, const std::string& key, PickleId value);
  void put_into_list(PickleId list, const std::string& path, const std::string& key, PickleId value);
  bool has_numbers_as_keys(PickleId dict);

  Pickle& tree_;
  const NameSet& tensors_;
  TreeBounds bounds_;
  std::unordered_set<std::string> found_;                   // names of the tensors in it
  std::unordered_set<std::string> values_;                  // of all else that is no container
  std::unordered_map<std::string, PickleId> containers_;    // by name
  std::unordered_map<PickleId, bool> has_numbers_as_keys_;  // of the dicts that something was put into
};

}  // namespace ckpt::torch
