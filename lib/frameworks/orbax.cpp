#include "frameworks/orbax.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/cut_rules.hpp"
#include "frameworks/piece_files.hpp"
#include "io/small_text.hpp"
#include "store/orbax/item.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished_name = ".orbax-checkpoint-tmp";
constexpr std::string_view process_beginning = "ocdbt.process_";
constexpr std::uint64_t most_metadata_bytes = 64ULL << 20;

bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

/// The directory with its name last: "run/4/" is "run/4".
fs::path named(const fs::path& directory) {
  return directory.has_filename() ? directory : directory.parent_path();
}

bool is_named_unfinished(const fs::path& directory) {
  return named(directory).filename().string().find(unfinished_name) != std::string::npos;
}

/// The directories in one, in natural order.
std::vector<fs::path> folders_in(const fs::path& directory) {
  std::vector<fs::path> folders;
  std::error_code error;
  std::error_code none;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(none)) folders.push_back(it->path());
  std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().native(), b.filename().native());
  });
  return folders;
}

bool is_database_of_process(const fs::path& folder) {
  return folder.filename().string().starts_with(process_beginning) && is_file(folder / orbax::ocdbt_manifest);
}

bool has_databases_of_processes(const fs::path& directory) {
  return std::ranges::any_of(folders_in(directory), is_database_of_process);
}

bool is_item(const fs::path& directory) {
  return is_file(directory / orbax::item_metadata) || is_file(directory / orbax::ocdbt_manifest) ||
         has_databases_of_processes(directory);
}

std::vector<fs::path> items_in(const fs::path& step) {
  std::vector<fs::path> items = folders_in(step);
  std::erase_if(items, [](const fs::path& each) { return !is_item(each); });
  return items;
}

/// Orbax says when a step was finished, in all its versions.
bool is_unfinished(const fs::path& directory) {
  if (is_named_unfinished(directory)) return true;
  const fs::path file = directory / orbax::step_metadata;
  if (!is_file(file)) return false;
  const auto json = parse_json(small_text(file, most_metadata_bytes, "metadata of Orbax"), file.string(),
                               {Kind::input, "metadata of Orbax", "take another step"});
  const auto time = json.is_object() ? json.find("commit_timestamp_nsecs") : json.end();
  return !json.is_object() || time == json.end() || time->is_null();
}

/// "12" and "checkpoint_12" are steps, as is what was not finished; "default" and "state" are items.
bool is_named_as_step(const fs::path& directory) {
  if (is_named_unfinished(directory)) return true;
  const std::string name = directory.filename().string();
  return !name.empty() && name.back() >= '0' && name.back() <= '9' && !name.starts_with(process_beginning);
}

bool is_step(const fs::path& directory) {
  if (is_named_unfinished(directory) || is_item(directory) || is_file(directory / orbax::step_metadata)) return true;
  const std::vector<fs::path> items = items_in(directory);
  return std::any_of(items.begin(), items.end(), [](const fs::path& item) { return !is_named_as_step(item); });
}

std::vector<fs::path> steps_in(const fs::path& directory) {
  std::vector<fs::path> steps = folders_in(directory);
  std::erase_if(steps, [](const fs::path& each) { return !is_named_as_step(each) || !is_step(each); });
  return steps;
}

std::vector<std::string> names_of(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return names;
}

[[noreturn]] void refuse_unfinished(const fs::path& directory) {
  throw Error(Kind::input, directory.string(),
              {"a checkpoint of Orbax that was not finished", "one that was", "take another step"});
}

/// The newest finished step of a directory of steps.
fs::path newest_step(const fs::path& directory) {
  std::vector<fs::path> steps = steps_in(directory);
  const auto finished = std::stable_partition(steps.begin(), steps.end(), is_unfinished);
  const std::vector<fs::path> unfinished(steps.begin(), finished);
  if (finished == steps.end())
    throw Error(Kind::input, directory.string(),
                {"none of the steps of Orbax in it was finished: " + join(names_of(unfinished)), "one that was",
                 "take the directory of another run, unless this one is still being saved"});
  if (!unfinished.empty())
    log::warn("{}: not finished, and left out: {}", directory.string(), join(names_of(unfinished)));
  if (steps.end() - finished > 1)
    log::info("{}: step {} is taken, the newest of {}", directory.string(), steps.back().filename().string(),
              steps.end() - finished);
  return steps.back();
}

fs::path only_item(const fs::path& step) {
  if (is_unfinished(step)) refuse_unfinished(step);
  if (is_item(step)) return step;
  const std::vector<fs::path> items = items_in(step);
  if (items.size() == 1) return items.front();
  if (items.empty())
    throw Error(Kind::input, step.string(),
                {"a step of Orbax without arrays", "an item with a " + std::string(orbax::item_metadata),
                 "was it copied completely? Copy it again"});
  throw Error(Kind::input, step.string(),
              {"it holds " + std::to_string(items.size()) + " items of Orbax: " + join(names_of(items)),
               "one that is meant", "give " + shell_word(items.front().string())});
}

/// Dimensions by tensor; nothing: it was not cut.
using CutDimensions = std::map<std::string, std::optional<std::size_t>>;

/// The first dimension along which each tensor was cut over devices, by the shardings that Orbax keeps beside the
/// arrays: those of JAX, unless they are older.
CutDimensions cut_dimensions(const fs::path& item) {
  CutDimensions cut;
  const fs::path file = item / "_sharding";
  if (!is_file(file)) return cut;
  const JsonRules rules{Kind::input, "shardings of Orbax", "take another copy of the checkpoint"};
  const auto json = parse_json(small_text(file, most_metadata_bytes, "shardings of Orbax"), file.string(), rules);
  if (!json.is_object()) return cut;
  for (const auto& [encoded, text] : json.items()) {
    const auto name = from_base64(encoded);
    if (!name || !text.is_string()) continue;
    const auto sharding = parse_json(text.get<std::string>(), file.string(), rules);
    const auto spec = sharding.is_object() ? sharding.find("partition_spec") : sharding.end();
    if (spec == sharding.end() || !spec->is_array()) {  // it was on one device: chunks do not say otherwise
      cut.emplace(*name, std::nullopt);
      continue;
    }
    const auto first = std::find_if(spec->begin(), spec->end(), [](const auto& axes) { return !axes.empty(); });
    cut.emplace(*name,
                first == spec->end() ? std::nullopt : std::optional(static_cast<std::size_t>(first - spec->begin())));
  }
  return cut;
}

/// The first dimension with several chunks.
std::optional<std::size_t> chunked_dimension(const StoredArray& array, const Dataset& dataset) {
  if (!dataset.chunk) return std::nullopt;
  for (std::size_t d = 0; d < array.shape.size(); ++d)
    if ((*dataset.chunk)[d] < array.shape[d]) return d;
  return std::nullopt;
}

/// Returns the rules for other cards: a tensor that devices shared is cut along the same dimension, any other is whole
/// on each. If a tensor has no sharding, its chunks show how it was cut.
Layout cut_elsewhere(const Schema& schema, const CutDimensions& cut, const std::string& origin) {
  std::vector<CutTensor> tensors;
  for (std::size_t i = 0; i < schema.arrays->size(); ++i) {
    const StoredArray& array = (*schema.arrays)[i];
    Box part = whole(array.shape);
    const auto found = cut.find(array.name.str());
    const auto along = found != cut.end() ? found->second : chunked_dimension(array, schema.datasets[i]);
    if (along && *along < part.rank() && part.hi[*along] > 1) part.hi[*along] = 1;
    tensors.push_back({array.name, Shape(array.shape), {{0, std::move(part)}}});
  }
  return layout_elsewhere(tensors, 1, origin, Uneven::ceil);
}

}  // namespace

bool is_orbax(const fs::path& directory) {
  // Every directory that no other format knows comes here: it is listed once.
  if (is_named_unfinished(directory) || is_file(directory / orbax::item_metadata) ||
      is_file(directory / orbax::ocdbt_manifest) || is_file(directory / orbax::step_metadata))
    return true;
  return std::ranges::any_of(folders_in(directory), [](const fs::path& each) {
    return is_database_of_process(each) || (is_named_as_step(each) ? is_step(each) : is_item(each));
  });
}

bool is_unfinished_orbax(const fs::path& directory) {
  if (is_step(directory)) return is_unfinished(directory);
  const std::vector<fs::path> steps = steps_in(directory);
  return !steps.empty() && std::ranges::all_of(steps, is_unfinished);
}

DirectoryDescription describe_orbax(const fs::path& given, SourceStore& store) {
  const fs::path directory = named(given);
  const fs::path item = only_item(is_step(directory) ? directory : newest_step(directory));
  if (fs::path above = item.parent_path(); item == directory && is_unfinished(above)) refuse_unfinished(above);
  const bool is_database = is_file(item / orbax::ocdbt_manifest);
  if (!is_database && has_databases_of_processes(item))
    throw Error(
        Kind::input, item.string(),
        {"the processes' databases were not merged: there is no " + std::string(orbax::ocdbt_manifest),
         "a finished checkpoint of Orbax", "take another step: Orbax merges them when all processes have saved"});
  const fs::path file = item / (is_database ? orbax::ocdbt_manifest : orbax::item_metadata);
  const std::string origin = "what " + item.string() + " says of itself";
  const FileCatalog catalog = store.catalog(file);
  DirectoryDescription described =
      described_whole({file.lexically_relative(directory).string()}, {catalog}, file.string(), origin);
  described.elsewhere = cut_elsewhere(*catalog.schema, cut_dimensions(item), origin);
  return described;
}

}  // namespace ckpt
