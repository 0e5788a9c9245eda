#include "frameworks/paddle_variables.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/piece_files.hpp"
#include "io/posix_file.hpp"
#include "store/paddle_static/read_variables.hpp"
#include "store/stores.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

bool is_variable_file(const fs::path& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  try {
    const PosixFile file = PosixFile::open_for_reading(path);
    return paddle_static::begins_as_tensor(file, file.status().bytes);
  } catch (const Error&) {
    return false;  // it cannot be read
  }
}

/// Programs, and small texts that people put beside variables. Any other file should be a variable.
bool is_beside_variables(const fs::path& path) {
  constexpr std::array<std::string_view, 9> endings{".pdmodel", ".json", ".txt", ".md",  ".yaml",
                                                    ".yml",     ".log",  ".py",  ".info"};
  const std::string name = path.filename().string();
  return name.starts_with(".") || name.starts_with("__") ||
         std::ranges::find(endings, path.extension().string()) != endings.end();
}

/// Throws input for a file that is damaged: a lost variable has no other trace in such a directory.
std::vector<std::string> variable_files(const fs::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code none;
    if (is_variable_file(it->path()))
      files.push_back(it->path().lexically_relative(directory).string());
    else if (fs::is_regular_file(it->path(), none) && !is_beside_variables(it->path()))
      throw Error(
          Kind::input, it->path().string(),
          {std::to_string(fs::file_size(it->path(), none)) + " bytes that begin no variable",
           "one of Paddle, as the other files of the directory", "copy it again, or take it out of the directory"});
  }
  std::sort(files.begin(), files.end(), natural_less);
  return files;
}

}  // namespace

/// A file whose name is another format's decides against it, so that a large directory of these is not read.
bool is_paddle_variables(const fs::path& directory) {
  bool is_one = false;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const Format* const format = format_by_ending(formats(), it->path().native());
    if (format != nullptr && format->name != paddle_static::format_name) return false;
    is_one = is_one || is_variable_file(it->path());
  }
  return is_one;
}

DirectoryDescription describe_paddle_variables(const fs::path& directory, SourceStore& store) {
  std::vector<std::string> files = variable_files(directory);
  std::vector<FileCatalog> catalogs;
  for (const std::string& file : files) {
    FileCatalog catalog = store.catalog(directory / file);
    const std::vector<StoredArray>& arrays = *catalog.schema->arrays;
    const bool is_in_folder = arrays.size() == 1 && fs::path(file).has_parent_path() &&
                              arrays.front().name == fs::path(file).filename().string();
    catalogs.push_back(is_in_folder ? under_name(catalog, file) : std::move(catalog));
  }
  return described_whole(std::move(files), std::move(catalogs), directory.string(),
                         "what " + directory.string() + " says of itself");
}

}  // namespace ckpt
