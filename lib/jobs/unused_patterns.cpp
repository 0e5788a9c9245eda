#include "jobs/unused_patterns.hpp"

#include <algorithm>
#include <set>

#include "base/shell_word.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

void add_values(const Schema& schema, std::vector<std::string>& names) {
  for (const Attribute& attribute : schema.attributes) names.push_back(attribute.name);
  for (const Group& group : schema.groups) {
    names.push_back(group.path);
    for (const Attribute& attribute : group.attributes) names.push_back(group.path + "/" + attribute.name);
  }
  for (const Leaf& leaf : schema.leaves) names.push_back(leaf.name);
}

std::vector<std::string> values_of(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  std::set<const Schema*> seen;
  for (const FileCatalog& file : checkpoint.files())
    if (file.schema && seen.insert(file.schema.get()).second) add_values(*file.schema, names);
  return names;
}

std::uint64_t count_matches(const Pattern& pattern, const std::vector<std::string>& names) {
  return static_cast<std::uint64_t>(
      std::count_if(names.begin(), names.end(), [&](const std::string& name) { return pattern.matches(name); }));
}

bool is_used(const Pattern& pattern, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return pattern.matches(name); });
}

/// Suggests a pattern that would match: everything below a group or a dict, or all names that contain the text.
std::string better(const Pattern& pattern, const std::vector<std::string>& names) {
  for (const std::string& text : {pattern.text() + "/*", pattern.text() + ".*", "*" + pattern.text() + "*"})
    if (const std::uint64_t count = count_matches(Pattern(text), names); count != 0)
      return shell_word(text) + " would match " + std::to_string(count);
  return names.empty() ? "there are no names" : "the nearest names are " + join(nearest(pattern.text(), names));
}

}  // namespace

std::vector<std::string> unused_patterns(const NameChoice& choice, const Checkpoint& checkpoint,
                                         const std::vector<std::string>& parameters) {
  std::vector<std::pair<const char*, const Pattern*>> unused;
  const auto look = [&](const char* option, const Pattern& pattern) {
    if (!is_used(pattern, parameters)) unused.emplace_back(option, &pattern);
  };
  for (const Pattern& pattern : choice.only) look("--only ", pattern);
  for (const Pattern& pattern : choice.drop) look("--drop ", pattern);
  for (const Rename& rename : choice.rename) look("--rename ", rename.stored);
  std::vector<std::string> warnings;
  if (unused.empty()) return warnings;
  const std::vector<std::string> values = values_of(checkpoint);
  for (const auto& [option, pattern] : unused)
    if (!is_used(*pattern, values))
      warnings.push_back(option + shell_word(pattern->text()) + " matches no name; " + better(*pattern, parameters));
  return warnings;
}

}  // namespace ckpt
