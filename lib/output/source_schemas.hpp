#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "output/value_names.hpp"

namespace ckpt {

/// The schema of some files of a source, and the number of the entry of `files` that names them.
struct SourceSchema {
  const Schema* schema;
  std::size_t entry;
  friend auto operator<=>(const SourceSchema&, const SourceSchema&) = default;
};

/// The schemas of a checkpoint's files, each once, those of the lowest card first.
std::vector<SourceSchema> source_schemas(const Checkpoint& source);

/// The attributes of all lists, each from the first that has it; adds a warning if others differ.
std::vector<Attribute> merged(const std::vector<const std::vector<Attribute>*>& lists, const std::string& what,
                              std::vector<std::string>& warnings);

/// The root attributes that stay there, for the files of each entry of `target`: those of the source's files with the
/// same prefix, and of files whose prefix no file of the target has, unless these have trees, where their prefix is a
/// dict's name. Adds warnings as `merged` does.
std::vector<std::vector<Attribute>> root_attributes(const std::vector<SourceSchema>& source_schemas,
                                                    const CardFiles& source, const CardFiles& target,
                                                    const ValueNames& names, std::vector<std::string>& warnings);

/// The groups of all files, by their paths with the files' prefixes where `names` puts their attributes, and the root
/// attributes that do not stay in place. Adds warnings as `merged` does.
std::vector<Group> merged_groups(const std::vector<SourceSchema>& source_schemas, const CardFiles& source,
                                 const CardFiles& target, const ValueNames& names, std::vector<std::string>& warnings);

/// The groups for the files of each entry of `files`, by their paths there; adds a warning if no file has a place.
std::vector<std::vector<Group>> shared_out(std::vector<Group> groups, const CardFiles& files,
                                           std::vector<std::string>& warnings);

}  // namespace ckpt
