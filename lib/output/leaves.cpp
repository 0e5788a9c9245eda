#include "output/leaves.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "frameworks/tree_fit.hpp"
#include "output/value_names.hpp"

namespace ckpt {

namespace {

/// One leaf in all files that have it.
struct LeafOfAll {
  const Leaf* first = nullptr;
  bool differs = false;
  bool is_carried = false;
};

/// Whether a leaf is a random state, such as "rng_state/0/np_rng_state": each card has its own.
bool is_random_state(const std::string& name) {
  return name.find("rng") != std::string::npos || name.find("random") != std::string::npos;
}

std::map<std::string, LeafOfAll> of_all_files(const std::vector<Saying>& sayings, const CardFiles& files,
                                              const SourceTrees& trees, const NewName& new_name) {
  std::map<std::string, LeafOfAll> leaves;
  for (const Saying& saying : sayings)
    for (const Leaf& leaf : saying.schema->leaves) {
      if (follows_from_ranks(leaf.name) || (trees.has_all_beside() && trees.is_beside(leaf.name))) continue;
      const std::string name = files.entries()[saying.entry].prefix + leaf.name;
      const auto other = new_value_name(new_name, *saying.schema, name);
      if (!other) continue;
      LeafOfAll& all = leaves[*other];
      if (all.first == nullptr) all.first = &leaf;
      all.differs = all.differs || leaf.digest != all.first->digest;
      all.is_carried = all.is_carried || (leaf.is_carried && trees.used().contains(saying.schema));
    }
  return leaves;
}

void add_as_json(const std::string& name, const Leaf& leaf, std::map<std::string, Group>& groups) {
  const std::size_t slash = name.rfind('/');
  const std::string path = slash == std::string::npos ? "" : name.substr(0, slash);
  Group& group = groups.try_emplace(path, Group{path, {}}).first->second;
  group.attributes.push_back({slash == std::string::npos ? name : name.substr(slash + 1), text_value(leaf.json)});
}

}  // namespace

LeafChoice choose_leaves(const std::vector<Saying>& sayings, const CardFiles& files, const SourceTrees& trees,
                         const std::vector<Pattern>& dropped, const NewName& new_name,
                         std::vector<std::string>& warnings) {
  LeafChoice choice;
  std::map<std::string, Group> groups;
  std::vector<std::string> differing;
  for (const auto& [name, leaf] : of_all_files(sayings, files, trees, new_name)) {
    const std::string in_words = name + " (" + leaf.first->what + ")";
    if (leaf.is_carried && leaf.differs && !is_random_state(name)) differing.push_back(in_words);
    const bool is_in_json = (trees.used().empty() || !trees.has_trees()) && !leaf.first->json.empty();
    if (is_in_json) add_as_json(name, *leaf.first, groups);
    const bool is_missed =
        std::none_of(dropped.begin(), dropped.end(), [&](const auto& each) { return each.matches(name); });
    if (!is_in_json && !leaf.is_carried && is_missed) choice.lost.push_back(in_words);
  }
  if (!differing.empty())
    warnings.push_back("values that differ between cards; the lowest card's are kept: " + join(differing));
  for (auto& [path, group] : groups) choice.as_json.push_back(std::move(group));
  return choice;
}

}  // namespace ckpt
