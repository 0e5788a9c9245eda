#include "frameworks/universal.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/piece_files.hpp"
#include "store/catalog.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr const char* parameters_folder = "zero";
constexpr const char* weight_file = "fp32.pt";
constexpr std::string_view file_ending = ".pt";
/// The names of a file's tensor: in a dict with what says how it was cut, or alone.
constexpr const char* in_dict = "param";
constexpr const char* alone = "tensor";

/// A file of one tensor.
struct UniversalFile {
  std::string path;  ///< below the directory
  std::string tensor;
};

std::vector<fs::path> sorted_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    found.push_back(it->path());
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return natural_less(a.native(), b.native()); });
  return found;
}

std::vector<UniversalFile> files_of(const fs::path& directory) {
  std::vector<UniversalFile> files;
  for (const fs::path& folder : sorted_in(directory / parameters_folder)) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;  // optimizer_state.pt
    if (!fs::exists(folder / weight_file, error))
      throw Error(
          Kind::input, folder.string(),
          {std::string("has no ") + weight_file, "one for each parameter", "copy it again, or convert it again"});
    const std::string parameter = folder.filename().string();
    for (const fs::path& file : sorted_in(folder)) {
      if (file.extension() != file_ending) continue;
      const std::string state = file.stem().string();
      files.push_back({fs::path(parameters_folder) / parameter / file.filename(),
                       file.filename() == weight_file ? parameter : state + "/" + parameter});
    }
  }
  return files;
}

/// The catalog of one file, in which its tensor has its name.
FileCatalog named(const FileCatalog& catalog, const std::string& name, const fs::path& file) {
  const Schema& found = *catalog.schema;
  const auto has = [&](const char* each) { return found.find(each) < found.arrays->size(); };
  if (found.arrays->size() != 1 || !(has(in_dict) || has(alone)))
    throw Error(Kind::input, file.string(),
                {std::to_string(found.arrays->size()) + " tensors", "one, as ds_to_universal writes it",
                 "is the file damaged, or of a newer version of DeepSpeed?"});
  return under_name(catalog, name);
}

}  // namespace

bool is_universal(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory / parameters_folder, error), end; !error && it != end; it.increment(error))
    if (std::error_code none; fs::exists(it->path() / weight_file, none)) return true;
  return false;
}

DirectoryDescription describe_universal(const fs::path& directory, SourceStore& store) {
  const std::vector<UniversalFile> files = files_of(directory);
  std::vector<std::string> paths;
  std::vector<FileCatalog> catalogs;
  for (const UniversalFile& file : files) {
    const fs::path path = directory / file.path;
    catalogs.push_back(named(store.catalog(path), file.tensor, path));
    paths.push_back(file.path);
  }
  DirectoryDescription described = described_whole(std::move(paths), std::move(catalogs), directory.string(),
                                                   "what " + directory.string() + " says of itself");
  described.left_out.push_back("mp_rank_00_model_states.pt (what DeepSpeed keeps beside the parameters)");
  described.others.emplace_back("mp_rank_00_model_states.pt");
  return described;
}

}  // namespace ckpt
