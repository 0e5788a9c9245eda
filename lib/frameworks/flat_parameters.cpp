#include "frameworks/flat_parameters.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "base/text.hpp"

namespace ckpt {

namespace {

/// FSDP's "0._flat_param" and "_fsdp_wrapped_module.flat_param", and fairscale's "flat_param_0".
bool is_flat_parameter(std::string_view name) {
  constexpr std::string_view word = "flat_param";
  name.remove_prefix(name.find_last_of("./") + 1);  // npos + 1 is 0
  if (name.starts_with('_')) name.remove_prefix(1);
  if (!name.starts_with(word)) return false;
  name.remove_prefix(word.size());
  if (name.empty()) return true;
  return name.starts_with('_') && name.size() > 1 &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

constexpr const char* other_forms = "save with StateDictType.SHARDED_STATE_DICT or FULL_STATE_DICT";
constexpr const char* with_buckets =
    "or give a layout whose \"buckets\" name each flat parameter's members in their order (layouts/fsdp1.json shows "
    "how)";

bool has_members(const Layout* layout, const std::string& name) {
  return layout != nullptr &&
         std::ranges::any_of(layout->buckets, [&](const Bucket& bucket) { return bucket.name == name; });
}

}  // namespace

std::optional<Error> flat_parameters_alone(const std::vector<std::string>& names,
                                           const std::vector<FileCatalog>& catalogs, const std::string& origin) {
  std::set<std::string> found;
  std::size_t first = 0;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const StoredArray& array : *catalogs[i].schema->arrays)
      if (is_flat_parameter(array.name)) {
        if (found.empty()) first = i;
        found.insert(array.name);
      }
  if (found.empty()) return std::nullopt;
  Error error(Kind::input, origin + ": " + names[first],
              {"holds the flat parameters " + join({found.begin(), found.end()}, 4) +
                   " of FSDP's LOCAL_STATE_DICT, which do not say which parameters lie in them; those beside them "
                   "are parts of unknown places",
               "each parameter by itself, with its place",
               std::string(other_forms) + ", " + with_buckets,
               {Advice::What::leave_out, ""}});
  return error.advise("", {Advice::What::draft_layout, origin});  // for the remaining tensors
}

bool hold_flat_parameters(const std::vector<FileCatalog>& files) {
  const auto is_flat = [](const StoredArray& array) { return is_flat_parameter(array.name); };
  return std::ranges::any_of(
      files, [&](const FileCatalog& file) { return std::ranges::any_of(*file.schema->arrays, is_flat); });
}

void refuse_flat_parameters(FileCatalog& catalog, const Layout* layout) {
  const std::vector<StoredArray>& arrays = *catalog.schema->arrays;
  const auto is_refused = [&](const StoredArray& array) {
    return is_flat_parameter(array.name) && !array.refusal && !has_members(layout, array.name);
  };
  if (std::ranges::none_of(arrays, is_refused)) return;
  const Error why(
      Kind::input, "",
      {"is a flat parameter of FSDP's LOCAL_STATE_DICT, which does not say which parameters lie in it",
       "each parameter by itself", layout == nullptr ? std::string(other_forms) + ", " + with_buckets : other_forms});
  Schema schema = *catalog.schema;
  std::vector<StoredArray> changed = arrays;
  for (StoredArray& array : changed)
    if (is_refused(array)) array = unreadable(array.name, why);
  schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(changed));
  catalog.schema = std::make_shared<const Schema>(std::move(schema));
}

}  // namespace ckpt
