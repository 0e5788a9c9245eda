#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "output/value_names.hpp"

namespace ckpt {

/// What some files of a source say, and which entry of `files` names them.
struct Saying {
  const Schema* schema;
  std::size_t entry;
  friend auto operator<=>(const Saying&, const Saying&) = default;
};

/// What the files of a checkpoint say, each once, those of the lowest card first.
std::vector<Saying> sayings(const Checkpoint& source);

/// Attributes of all of these together, each from the first that has it; adds a warning where others differ.
std::vector<Attribute> merged(const std::vector<const std::vector<Attribute>*>& lists, const std::string& what,
                              std::vector<std::string>& warnings);

/// The root attributes for the files of each entry of `target` that stay there: of the source's files with the same
/// prefix, and of those whose prefix no file of the target has, unless these have trees: their prefix is a
/// dict's name there.
/// Adds warnings as `merged` does.
std::vector<std::vector<Attribute>> root_attributes(const std::vector<Saying>& sayings, const CardFiles& source,
                                                    const CardFiles& target, const ValueNames& names,
                                                    std::vector<std::string>& warnings);

/// The groups of all of these together, by their paths with the prefixes of the files, where `names` puts their
/// attributes, and the root attributes that do not stay where they were. Adds warnings as `merged` does.
std::vector<Group> merged_groups(const std::vector<Saying>& sayings, const CardFiles& source, const CardFiles& target,
                                 const ValueNames& names, std::vector<std::string>& warnings);

/// Those that belong into the files of each entry of `files`, by their paths there; adds a warning where none has room.
std::vector<std::vector<Group>> shared_out(std::vector<Group> groups, const CardFiles& files,
                                           std::vector<std::string>& warnings);

}  // namespace ckpt
