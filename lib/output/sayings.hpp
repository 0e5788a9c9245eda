#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// What some files of a source say, and which entry of `files` names them.
struct Saying {
  const Schema* schema;
  std::size_t entry;
  friend auto operator<=>(const Saying&, const Saying&) = default;
};

/// What the files of a checkpoint say, each once, those of the lowest card first.
std::vector<Saying> sayings(const Checkpoint& source);

/// Attributes of all of these together, each from the first that has it; differences are told of.
std::vector<Attribute> merged(const std::vector<const std::vector<Attribute>*>& lists, const std::string& what);

/// The groups of all of these together, by their paths with the prefixes of the files.
std::vector<Group> merged_groups(const std::vector<Saying>& sayings, const CardFiles& files);

/// Those that belong into the files of each entry of `files`, by their paths there.
std::vector<std::vector<Group>> shared_out(std::vector<Group> groups, const CardFiles& files);

}  // namespace ckpt
