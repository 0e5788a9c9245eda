#include "inspect/survey.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <system_error>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "layout/names/name_groups.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt::cli {

namespace {

/// Files that declare the same.
struct SchemaGroup {
  const Schema* schema = nullptr;
  std::string prefix;  ///< of their tensors' names
  std::vector<std::size_t> files;
};

/// The prefixes that the layout gives to the names in each file; empty without a layout.
std::vector<std::string> prefixes_of(const FoundCheckpoint& found) {
  if (!found.checkpoint) return std::vector<std::string>(found.files.names.size());
  const Checkpoint& checkpoint = *found.checkpoint;
  std::vector<std::string> prefixes;
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file)
    if (checkpoint.is_there(file))
      prefixes.push_back(checkpoint.layout().files.entries()[checkpoint.table().entry(file)].prefix);
  return prefixes;
}

std::vector<SchemaGroup> group(const FoundCheckpoint& found) {
  const std::vector<std::string> prefixes = prefixes_of(found);
  std::vector<SchemaGroup> groups;
  std::map<std::pair<const Schema*, std::string>, std::size_t> index;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const Schema* schema = found.files.catalogs[i].schema.get();
    const auto [known, is_new] = index.try_emplace({schema, prefixes[i]}, groups.size());
    if (is_new) groups.push_back({schema, prefixes[i], {}});
    groups[known->second].files.push_back(i);
  }
  return groups;
}

/// The number in each name, if the names differ in one number only, which then is a card's id; else empty.
std::vector<std::uint64_t> numbers_of(const std::vector<std::string>& names) {
  if (names.size() < 2) return {};
  std::optional<std::size_t> differs;
  std::vector<std::vector<std::string>> all;
  for (const auto& name : names) {
    all.push_back(text_and_numbers(name));
    if (!differ_in_numbers(name, names[0])) return {};
    for (std::size_t i = 1; i < all[0].size(); i += 2) {
      if (all.back()[i] == all[0][i]) continue;
      if (differs && *differs != i) return {};
      differs = i;
    }
  }
  std::vector<std::uint64_t> numbers;
  for (const auto& name : all) {
    const std::string& digits = name[*differs];
    std::uint64_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) return {};
    numbers.push_back(number);
  }
  auto sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? numbers : std::vector<std::uint64_t>{};
}

void add_form(std::vector<AttributeForm>& forms, AttributeForm form) {
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const AttributeForm& other) {
    return other.name == form.name && other.value == form.value;
  });
  if (found == forms.end())
    forms.push_back(std::move(form));
  else
    found->groups.insert(found->groups.end(), form.groups.begin(), form.groups.end());
}

void add_attributes(std::vector<AttributeForm>& forms, const std::vector<Attribute>& attributes, std::size_t group) {
  for (const auto& attribute : attributes) add_form(forms, {attribute.name, attribute_value(attribute.value), {group}});
}

void add_array(StoredParameter& parameter, const StoredArray& array, std::size_t group, std::uint64_t files) {
  if (!array.verbatim) {
    const std::uint64_t each = checked_mul(numel(array.shape), array.dtype.size, "a dataset");
    parameter.bytes = checked_add(parameter.bytes, checked_mul(each, files, "a parameter"), "a parameter");
  }
  const auto found = std::find_if(parameter.forms.begin(), parameter.forms.end(), [&](const StoredForm& form) {
    return form.dtype == array.dtype.name && form.shape == array.shape;
  });
  if (found == parameter.forms.end())
    parameter.forms.push_back({array.dtype.name, array.shape, {group}});
  else
    found->groups.push_back(group);
}

void sort_by_name(std::vector<AttributeForm>& forms) {
  std::stable_sort(forms.begin(), forms.end(),
                   [](const AttributeForm& a, const AttributeForm& b) { return natural_less(a.name, b.name); });
}

struct CountLess {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

/// A layout may have several names for one file, of which each is a card.
void count_files(const FoundCheckpoint& found, Survey& survey) {
  const auto add = [&](const FileCatalog& catalog) {
    ++survey.file_count;
    survey.file_bytes += catalog.bytes;
    for (const Dataset& dataset : catalog.schema->datasets) survey.file_bytes += dataset.bytes_elsewhere;
  };
  if (!found.checkpoint) {
    std::ranges::for_each(found.files.catalogs, add);
    return;
  }
  std::set<std::filesystem::path> counted;
  for (FileNumber file = 0; file < found.checkpoint->files().size(); ++file)
    if (found.checkpoint->is_there(file) && counted.insert(found.checkpoint->file_path(file)).second)
      add(found.checkpoint->file(file));
}

}  // namespace

std::size_t Survey::count(const std::vector<std::size_t>& of_groups) const {
  std::size_t count = 0;
  for (const std::size_t group : of_groups) count += groups[group].size();
  return count;
}

WhichFiles Survey::which(const std::vector<std::size_t>& of_groups) const {
  std::vector<std::size_t> chosen;
  for (const std::size_t group : of_groups) chosen.insert(chosen.end(), groups[group].begin(), groups[group].end());
  std::sort(chosen.begin(), chosen.end());
  WhichFiles which;
  std::vector<std::uint64_t> ids;
  for (const std::size_t file : chosen) {
    which.names.push_back(files[file]);
    if (!numbers.empty()) ids.push_back(numbers[file]);
  }
  if (!numbers.empty()) which.cards = CardIds(std::move(ids));
  return which;
}

Survey survey(const FoundCheckpoint& found) {
  Survey result;
  result.files = found.files.names;
  result.numbers = numbers_of(result.files);
  std::map<std::string, StoredParameter, CountLess> parameters;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> leaves;  // by name and description
  std::set<std::string, CountLess> shown;
  std::set<std::string> formats;
  for (auto& alike : group(found)) {
    const std::size_t group = result.groups.size();
    formats.insert(alike.schema->format);
    for (const ViewedFile& file : alike.schema->viewed) shown.insert(file.path);
    add_attributes(result.attributes, alike.schema->attributes, group);
    for (const Leaf& leaf : alike.schema->leaves) leaves[{alike.prefix + leaf.name, leaf.what}].push_back(group);
    for (std::size_t i = 0; i < alike.schema->arrays->size(); ++i) {
      const StoredArray& array = (*alike.schema->arrays)[i];
      if (const auto& why = array.refusal) {
        leaves[{alike.prefix + array.name, std::string("cannot be read: ") + why->what()}].push_back(group);
        continue;
      }
      StoredParameter& parameter = parameters[alike.prefix + array.name];
      add_array(parameter, array, group, alike.files.size());
      parameter.is_shown = parameter.is_shown || alike.schema->datasets[i].storage == Storage::views;
      add_attributes(parameter.attributes, alike.schema->datasets[i].attributes, group);
    }
    result.groups.push_back(std::move(alike.files));
  }
  for (auto& [name, parameter] : parameters) {
    parameter.name = name;
    std::stable_sort(parameter.forms.begin(), parameter.forms.end(), [&](const StoredForm& a, const StoredForm& b) {
      return result.count(a.groups) > result.count(b.groups);
    });
    sort_by_name(parameter.attributes);
    result.parameters.push_back(std::move(parameter));
  }
  for (auto& [leaf, groups] : leaves) result.leaves.push_back({leaf.first, leaf.second, std::move(groups)});
  result.formats.assign(formats.begin(), formats.end());
  result.shown.assign(shown.begin(), shown.end());
  sort_by_name(result.attributes);
  sort_by_name(result.leaves);
  count_files(found, result);
  return result;
}

std::string dtypes_of(const StoredParameter& parameter) {
  std::vector<std::string> names;
  for (const auto& form : parameter.forms) {
    if (std::find(names.begin(), names.end(), form.dtype) == names.end()) names.push_back(form.dtype);
  }
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

}  // namespace ckpt::cli
