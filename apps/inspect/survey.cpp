#include "inspect/survey.hpp"

#include <algorithm>
#include <map>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace ckpt::cli {

namespace {

/// The cards whose files declare the same.
struct Alike {
  const Schema* schema = nullptr;
  std::string prefix;  ///< of their names
  std::uint64_t cards = 0;
  std::string first_file;
};

std::vector<Alike> group(const CardFiles& files) {
  std::vector<Alike> groups;
  std::map<std::pair<const Schema*, std::string>, std::size_t> index;
  for (std::size_t i = 0; i < files.names.size(); ++i) {
    const Schema* schema = files.catalogs[i].schema.get();
    const auto [found, is_new] = index.try_emplace({schema, files.prefixes[i]}, groups.size());
    if (is_new) groups.push_back({schema, files.prefixes[i], 0, files.names[i]});
    ++groups[found->second].cards;
  }
  return groups;
}

void add_attributes(std::vector<AttributeForm>& forms, const std::vector<Attribute>& attributes, std::uint64_t cards) {
  for (const auto& attribute : attributes) {
    const AttributeForm form{attribute.name, attribute_value(attribute.value), cards};
    const auto found = std::find_if(forms.begin(), forms.end(), [&](const AttributeForm& other) {
      return other.name == form.name && other.value == form.value;
    });
    if (found == forms.end())
      forms.push_back(form);
    else
      found->cards += cards;
  }
}

void add_array(StoredParameter& parameter, const StoredArray& array, const Alike& alike) {
  if (!array.verbatim) {
    const std::uint64_t each = checked_mul(volume(array.shape), array.dtype.size, "a dataset");
    parameter.bytes = checked_add(parameter.bytes, checked_mul(each, alike.cards, "a parameter"), "a parameter");
  }
  const auto found = std::find_if(parameter.forms.begin(), parameter.forms.end(), [&](const StoredForm& form) {
    return form.dtype == array.dtype.name && form.shape == array.shape;
  });
  if (found == parameter.forms.end())
    parameter.forms.push_back({array.dtype.name, array.shape, alike.cards, alike.first_file});
  else
    found->cards += alike.cards;
}

void sort_by_name(std::vector<AttributeForm>& forms) {
  std::stable_sort(forms.begin(), forms.end(),
                   [](const AttributeForm& a, const AttributeForm& b) { return natural_less(a.name, b.name); });
}

struct CountLess {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

}  // namespace

Survey survey(const CardFiles& files) {
  Survey result;
  std::map<std::string, StoredParameter, CountLess> parameters;
  for (const auto& alike : group(files)) {
    add_attributes(result.attributes, alike.schema->attributes, alike.cards);
    for (std::size_t i = 0; i < alike.schema->arrays->size(); ++i) {
      const StoredArray& array = (*alike.schema->arrays)[i];
      StoredParameter& parameter = parameters[alike.prefix + array.name];
      add_array(parameter, array, alike);
      add_attributes(parameter.attributes, alike.schema->datasets[i].attributes, alike.cards);
    }
  }
  for (auto& [name, parameter] : parameters) {
    parameter.name = name;
    std::stable_sort(parameter.forms.begin(), parameter.forms.end(),
                     [](const StoredForm& a, const StoredForm& b) { return a.cards > b.cards; });
    sort_by_name(parameter.attributes);
    result.parameters.push_back(std::move(parameter));
  }
  sort_by_name(result.attributes);
  result.files = files.names.size();
  for (const auto& catalog : files.catalogs) result.file_bytes += catalog.bytes;
  return result;
}

}  // namespace ckpt::cli
