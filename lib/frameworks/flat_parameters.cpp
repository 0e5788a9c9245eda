#include "frameworks/flat_parameters.hpp"

#include <algorithm>
#include <cctype>
#include <map>
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

/// Returns the vectors whose lengths differ between files that state no places: with use_orig_params=True, each of
/// FSDP1's ranks has a run of a parameter's elements, or none.
std::set<std::string> runs_of_ranks(const std::vector<FileCatalog>& files) {
  std::map<std::string, Shape> first;
  std::set<std::string> parts;
  for (const FileCatalog& file : files)
    for (std::size_t i = 0; i < file.schema->arrays->size(); ++i) {
      const StoredArray& array = (*file.schema->arrays)[i];
      if (array.shape.size() != 1 || file.schema->datasets[i].piece) continue;
      if (first.try_emplace(array.name, array.shape).first->second != array.shape) parts.insert(array.name);
    }
  return parts;
}

/// Returns an error if torch files hold parts of parameters alone: vectors only, and on some ranks an empty one.
std::optional<Error> parts_alone(const std::vector<FileCatalog>& catalogs, const std::string& origin) {
  bool is_any_empty = false;
  const std::set<std::string> runs = runs_of_ranks(catalogs);
  for (const FileCatalog& file : catalogs)
    for (const StoredArray& array : *file.schema->arrays) {
      if (array.shape.size() > 1 || file.schema->format != "torch") return std::nullopt;
      is_any_empty = is_any_empty || (array.shape == Shape{0} && runs.contains(array.name));
    }
  if (!is_any_empty) return std::nullopt;
  return Error(Kind::input, origin,
               {"each rank holds a run of the elements, or none, of " + join({runs.begin(), runs.end()}, 2) +
                    ", as FSDP1 with use_orig_params=True keeps them, and no file says their shapes",
                "each parameter by itself, with its place",
                std::string(other_forms) +
                    ", or join them in Python: torch.cat() of the runs in the ranks' order, .view() of the shape that "
                    "the model has"});
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
  if (found.empty()) return parts_alone(catalogs, origin);
  Error error(Kind::input, origin + ": " + names[first],
              {"holds the flat parameters " + join({found.begin(), found.end()}, 4) +
                   " of FSDP's LOCAL_STATE_DICT, which do not say which parameters lie in them; those beside them "
                   "are parts of unknown places",
               "each parameter by itself, with its place", std::string(other_forms) + ", " + with_buckets,
               leaving_out({found.begin(), found.end()})});
  return error.advise("", {Advice::What::draft_layout, origin});  // for the remaining tensors
}

std::set<std::string> parts_of_flat(const std::vector<FileCatalog>& files) {
  return hold_flat_parameters(files) ? runs_of_ranks(files) : std::set<std::string>{};
}

bool hold_flat_parameters(const std::vector<FileCatalog>& files) {
  const auto is_flat = [](const StoredArray& array) { return is_flat_parameter(array.name); };
  return std::ranges::any_of(
      files, [&](const FileCatalog& file) { return std::ranges::any_of(*file.schema->arrays, is_flat); });
}

void refuse_flat_parameters(FileCatalog& catalog, const Layout* layout, const std::set<std::string>& parts) {
  const std::vector<StoredArray>& arrays = *catalog.schema->arrays;
  const auto is_refused = [&](const StoredArray& array) {
    return !array.refusal &&
           (parts.contains(array.name) || (is_flat_parameter(array.name) && !has_members(layout, array.name)));
  };
  if (std::ranges::none_of(arrays, is_refused)) return;
  const Error why(
      Kind::input, "",
      {"is a flat parameter of FSDP's LOCAL_STATE_DICT, which does not say which parameters lie in it",
       "each parameter by itself", layout == nullptr ? std::string(other_forms) + ", " + with_buckets : other_forms});
  const Error why_part(Kind::input, "",
                       {"is each rank's part of a parameter that lies in FSDP's flat parameters, of unknown place",
                        "the whole parameter", other_forms});
  Schema schema = *catalog.schema;
  std::vector<StoredArray> changed = arrays;
  for (StoredArray& array : changed)
    if (is_refused(array)) array = unreadable(array.name, is_flat_parameter(array.name) ? why : why_part);
  schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(changed));
  catalog.schema = std::make_shared<const Schema>(std::move(schema));
}

}  // namespace ckpt
