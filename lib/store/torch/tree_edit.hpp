#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "store/pickle/pickle.hpp"
#include "store/torch/branches.hpp"

namespace ckpt::torch {

/// Names of tensors.
using NameSet = std::unordered_set<std::string_view>;

/// A carried tree in which values are found, removed and added by name.
class TreeEdit {
 public:
  /// All arguments must outlive it. A root that is not a container is replaced by a dict.
  TreeEdit(Pickle& tree, const NameSet& tensors);

  bool has_tensor(const std::string& name) const { return found_.contains(name); }
  /// Returns whether it contains a tensor, a container or another value of this name.
  bool has(const std::string& name) const {
    return has_tensor(name) || values_.contains(name) || containers_.contains(name);
  }

  /// Adds a node below the containers along its name; missing ones are created as dicts. Throws input if something else
  /// has its name, or a list has no place for it.
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
  std::unordered_set<std::string> found_;                   // names of the tensors found in it
  std::unordered_set<std::string> values_;                  // names of everything else except containers
  std::unordered_map<std::string, PickleId> containers_;    // by name
  std::unordered_map<PickleId, bool> has_numbers_as_keys_;  // for the dicts that a value was added to
};

}  // namespace ckpt::torch
