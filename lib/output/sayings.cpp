#include "output/sayings.hpp"

#include <map>
#include <set>

#include "frameworks/tree_fit.hpp"

namespace ckpt {

std::vector<Saying> sayings(const Checkpoint& source) {
  std::vector<Saying> distinct;
  std::set<Saying> seen;
  for (const Position card : source.layout().mesh.by_card())
    for (const FileNumber file : source.table().owned_by(card)) {
      const Saying saying{source.file(file).schema.get(), source.table().entry(file)};
      if (source.is_there(file) && seen.insert(saying).second) distinct.push_back(saying);
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

std::vector<std::vector<Attribute>> root_attributes(const std::vector<Saying>& sayings, const CardFiles& source,
                                                    const CardFiles& target, std::vector<std::string>& warnings) {
  std::set<std::string> prefixes;
  for (const FileEntry& entry : target.entries()) prefixes.insert(entry.prefix);
  std::vector<std::vector<Attribute>> of_entries;
  for (const FileEntry& entry : target.entries()) {
    std::vector<const std::vector<Attribute>*> lists;
    for (const Saying& saying : sayings)
      if (const std::string& prefix = source.entries()[saying.entry].prefix;
          prefix == entry.prefix || !prefixes.contains(prefix))
        lists.push_back(&saying.schema->attributes);
    of_entries.push_back(merged(lists, "root group", warnings));
  }
  return of_entries;
}

std::vector<Group> merged_groups(const std::vector<Saying>& sayings, const CardFiles& files,
                                 std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<const std::vector<Attribute>*>> lists;
  for (const Saying& saying : sayings)
    for (const Group& group : saying.schema->groups)
      lists[files.entries()[saying.entry].prefix + group.path].push_back(&group.attributes);
  std::vector<Group> groups;
  groups.reserve(lists.size());
  for (const auto& [path, list] : lists) groups.push_back({path, merged(list, "group " + path, warnings)});
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
