#include "output/source_schemas.hpp"

#include <map>
#include <set>

#include "frameworks/tree_fit.hpp"

namespace ckpt {

std::vector<SourceSchema> source_schemas(const Checkpoint& source) {
  std::vector<SourceSchema> distinct;
  std::set<SourceSchema> seen;
  for (const Position card : source.layout().mesh.by_card())
    for (const FileNumber file : source.table().owned_by(card)) {
      const SourceSchema source_schema{source.file(file).schema.get(), source.table().entry(file)};
      if (source.is_there(file) && seen.insert(source_schema).second) distinct.push_back(source_schema);
    }
  return distinct;
}

std::vector<Attribute> merged(const std::vector<const std::vector<Attribute>*>& lists, const std::string& what,
                              std::vector<std::string>& warnings) {
  std::map<std::string, Attribute> merged;
  std::set<std::string> differing;
  for (const auto* list : lists)
    for (const Attribute& attribute : *list) {
      const auto [known, is_new] = merged.emplace(attribute.name, attribute);
      if (!is_new && !(known->second == attribute) && !follows_from_ranks(attribute.name))
        differing.insert(attribute.name);
    }
  for (const std::string& name : differing)
    warnings.push_back(what + ": attribute " + name + " differs between cards; the lowest card's value is kept");
  std::vector<Attribute> attributes;
  attributes.reserve(merged.size());
  for (auto& [name, attribute] : merged) attributes.push_back(std::move(attribute));
  return attributes;
}

namespace {

std::set<std::string> prefixes_of(const CardFiles& files) {
  std::set<std::string> prefixes;
  for (const FileEntry& entry : files.entries()) prefixes.insert(entry.prefix);
  return prefixes;
}

/// The target's place for a root attribute of a file: its root, or, if the file has a tree and its prefix names a dict,
/// that dict.
ValuePlace root_place(const SourceSchema& source_schema, const CardFiles& files, const std::set<std::string>& in_target,
                      const ValueNames& names, const std::string& name) {
  const std::string& prefix = files.entries()[source_schema.entry].prefix;
  const bool has_dict = source_schema.schema->has_tree && (names.prefixes_are_dicts() || in_target.contains(prefix));
  return has_dict ? below_prefix(prefix, "", name) : ValuePlace{"", name};
}

bool stays_root(const SourceSchema& source_schema, const CardFiles& files, const std::set<std::string>& in_target,
                const ValueNames& names) {
  const bool is_in_dict = source_schema.schema->has_tree && names.prefixes_are_dicts();
  return !is_in_dict || in_target.contains(files.entries()[source_schema.entry].prefix);
}

/// A file's root attributes that keep their place.
std::vector<Attribute> staying(const SourceSchema& source_schema, const CardFiles& files,
                               const std::set<std::string>& in_target, const ValueNames& names) {
  std::vector<Attribute> attributes;
  for (const Attribute& attribute : source_schema.schema->attributes) {
    const ValuePlace place = root_place(source_schema, files, in_target, names, attribute.name);
    if (names(*source_schema.schema, place) == place) attributes.push_back(attribute);
  }
  return attributes;
}

/// All other attributes of a file, by the groups that they move to.
std::map<std::string, std::vector<Attribute>> by_group(const SourceSchema& source_schema, const CardFiles& files,
                                                       const std::set<std::string>& in_target,
                                                       const ValueNames& names) {
  const std::string& prefix = files.entries()[source_schema.entry].prefix;
  const bool stays = stays_root(source_schema, files, in_target, names);
  std::map<std::string, std::vector<Attribute>> groups;
  const auto add = [&](const ValuePlace& place, const Attribute& attribute, bool is_root) {
    const auto other = names(*source_schema.schema, place);
    if (other && !(is_root && *other == place)) groups[other->group].push_back({other->name, attribute.value});
  };
  for (const Attribute& attribute : source_schema.schema->attributes)
    add(root_place(source_schema, files, in_target, names, attribute.name), attribute, stays);
  for (const Group& group : source_schema.schema->groups)
    for (const Attribute& attribute : group.attributes)
      add(below_prefix(prefix, group.path, attribute.name), attribute, false);
  return groups;
}

}  // namespace

std::vector<std::vector<Attribute>> root_attributes(const std::vector<SourceSchema>& source_schemas,
                                                    const CardFiles& source, const CardFiles& target,
                                                    const ValueNames& names, std::vector<std::string>& warnings) {
  const std::set<std::string> prefixes = prefixes_of(target);
  std::vector<std::vector<Attribute>> of_sayings;
  for (const SourceSchema& source_schema : source_schemas)
    of_sayings.push_back(staying(source_schema, source, prefixes, names));
  std::vector<std::vector<Attribute>> of_entries;
  for (const FileEntry& entry : target.entries()) {
    std::vector<const std::vector<Attribute>*> lists;
    for (std::size_t i = 0; i < source_schemas.size(); ++i) {
      const std::string& prefix = source.entries()[source_schemas[i].entry].prefix;
      if (prefix == entry.prefix ||
          (!prefixes.contains(prefix) && stays_root(source_schemas[i], source, prefixes, names)))
        lists.push_back(&of_sayings[i]);
    }
    of_entries.push_back(merged(lists, "root group", warnings));
  }
  return of_entries;
}

std::vector<Group> merged_groups(const std::vector<SourceSchema>& source_schemas, const CardFiles& source,
                                 const CardFiles& target, const ValueNames& names, std::vector<std::string>& warnings) {
  const std::set<std::string> prefixes = prefixes_of(target);
  std::map<std::string, std::vector<std::vector<Attribute>>> lists;
  for (const SourceSchema& source_schema : source_schemas)
    for (auto& [path, attributes] : by_group(source_schema, source, prefixes, names))
      lists[path].push_back(std::move(attributes));
  std::vector<Group> groups;
  groups.reserve(lists.size());
  for (auto& [path, of_files] : lists) {
    std::vector<const std::vector<Attribute>*> all;
    for (const auto& each : of_files) all.push_back(&each);
    groups.push_back({path, merged(all, path.empty() ? "root group" : "group " + path, warnings)});
    of_files.clear();
    of_files.shrink_to_fit();
  }
  return groups;
}

std::vector<std::vector<Group>> shared_out(std::vector<Group> groups, const CardFiles& files,
                                           std::vector<std::string>& warnings) {
  std::vector<std::vector<Group>> of_entries(files.entries().size());
  for (Group& group : groups) {
    const auto entry = files.entry_of(group.path);
    const std::string within = files.name_within(group.path);
    if (entry && !within.empty())
      of_entries[*entry].push_back({within, std::move(group.attributes)});
    else
      warnings.push_back("no file of the output has room for the attributes of group " + group.path + ": left out");
  }
  return of_entries;
}

}  // namespace ckpt
