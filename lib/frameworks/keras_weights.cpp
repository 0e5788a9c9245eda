#include "frameworks/keras_weights.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/piece_files.hpp"
#include "io/small_text.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view map_ending = ".weights.json";
constexpr std::uint64_t most_map_bytes = 64U << 20;

std::vector<fs::path> maps_in(const fs::path& directory) {
  std::vector<fs::path> maps;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->path().native().ends_with(map_ending)) maps.push_back(it->path());
  return maps;
}

[[noreturn]] void refuse_map(const fs::path& map, const std::string& found) {
  throw Error(Kind::input, map.string(), {found, "what Keras writes: a weight_map of groups and their files", ""});
}

/// The files that a map names, in natural order.
std::vector<std::string> files_in(const fs::path& map) {
  const std::string text = small_text(map, most_map_bytes, "a map of Keras' weights");
  const auto json = parse_json(text, map.string(), {Kind::input, "a map of Keras' weights", ""});
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    refuse_map(map, "it has no weight_map");
  std::vector<std::string> files;
  for (const auto& [group, names] : json["weight_map"].items()) {
    for (const auto& name : names.is_array() ? names : nlohmann::json::array({names})) {
      if (!name.is_string()) refuse_map(map, "group " + group + " is in no file");
      files.push_back(name.get<std::string>());
      if (files.back() != fs::path(files.back()).filename())
        refuse_map(map, "group " + group + " is in " + files.back() + ", which is elsewhere");
    }
  }
  std::sort(files.begin(), files.end(), natural_less);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace

bool is_keras_map(const fs::path& path) {
  std::error_code none;
  return path.native().ends_with(map_ending) && fs::is_regular_file(path, none);
}

bool is_keras_weights(const fs::path& directory) {
  return maps_in(directory).size() == 1;
}

DirectoryDescription describe_keras_weights(const fs::path& path, SourceStore& store) {
  const fs::path map = is_keras_map(path) ? path : maps_in(path).front();
  const fs::path directory = map.has_parent_path() ? map.parent_path() : fs::path(".");
  std::vector<std::string> files = files_in(map);
  std::vector<FileCatalog> catalogs;
  for (const std::string& file : files) {
    std::error_code error;
    if (!fs::exists(directory / file, error))
      throw Error(Kind::input, (directory / file).string(),
                  {"no such file, which " + map.filename().string() + " names", "",
                   "copy it into " + shell_word(directory.string())});
    catalogs.push_back(store.catalog(directory / file));
  }
  return described_whole(std::move(files), std::move(catalogs), map.string(),
                         "what " + path.string() + " says of itself");
}

}  // namespace ckpt
