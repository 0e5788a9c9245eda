#include "checkpoint/indexed_files.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/read_catalogs.hpp"
#include "frameworks/cut_rules.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_ending = ".index.json";
constexpr std::uint64_t most_index_bytes = 256ULL << 20;

std::string text_in_file(const fs::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  if (bytes > most_index_bytes)
    throw Error(Kind::input, path.string(),
                {"has " + format_bytes(bytes), "expected an index of at most " + format_bytes(most_index_bytes), ""});
  std::string text(bytes, '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// The indexes in a directory, as this process sees it.
std::vector<std::string> indexes_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (const std::string name = it->path().filename().string(); name.ends_with(index_ending)) names.push_back(name);
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

void check_index(const std::string& origin, const WeightMap& index, const std::vector<std::string>& files,
                 const std::vector<FileCatalog>& catalogs) {
  std::set<std::pair<std::string, std::string>> held;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const StoredArray& array : *catalogs[i].schema->arrays) {
      held.emplace(files[i], array.name);
      const auto said = index.file_of.find(array.name);
      if (said == index.file_of.end() || said->second != files[i])
        throw Error(Kind::input, files[i],
                    {"it holds '" + array.name + "'",
                     origin + (said == index.file_of.end() ? " does not name it" : " says it is in " + said->second),
                     "is the index that of these files?"});
    }
  for (const auto& [name, file] : index.file_of)
    if (!held.contains({file, name}))
      throw Error(
          Kind::input, file,
          {"it does not hold '" + name + "'", origin + " says that it does", "is the index that of these files?"});
}

Layout layout_of_files(const std::vector<std::string>& files, const std::vector<CutTensor>& tensors,
                       const std::string& origin) {
  const Mesh mesh{{"card"}, {files.size()}, {}};
  Layout layout = layout_of(tensors, mesh, origin);
  FileTemplate::ByCard paths;
  for (std::size_t i = 0; i < files.size(); ++i) paths.emplace(i, files[i]);
  layout.files = CardFiles({{FileTemplate(std::move(paths), mesh), ""}});
  return layout;
}

}  // namespace

bool is_index(const fs::path& path) {
  return path.filename().string().ends_with(index_ending);
}

std::optional<IndexText> find_index(const fs::path& path, bool is_single_file, Communicator& processes) {
  if (is_single_file && !is_index(path)) return std::nullopt;
  std::string name;
  std::string text;
  agree(processes, [&] {
    std::error_code ignored;
    if (is_single_file) {
      if (fs::exists(path, ignored)) text = text_in_file(path);
      return;
    }
    const std::vector<std::string> names = indexes_in(path);
    if (names.empty()) return;
    if (names.size() > 1)
      throw Error(Kind::input, path.string(),
                  {"it holds the indexes " + join(names), "expected one",
                   "give the one that is meant instead of its directory"});
    name = names.front();
    text = text_in_file(path / name);
  });
  const auto names = processes.all_gather(name);
  const auto texts = processes.all_gather(text);
  IndexText found{path, ""};
  agree(processes, [&] {
    if (!is_single_file) found.path = path / one_text(names, "the index in " + path.string());
    found.text = one_text(texts, found.path.string());
  });
  if (found.text.empty()) return std::nullopt;
  return found;
}

Look look_at_indexed(const fs::path& index, const WeightMap& map, SourceStore& store, Communicator& processes) {
  const fs::path directory = index.parent_path();
  std::set<std::string, decltype(&natural_less)> distinct(&natural_less);
  for (const auto& [name, file] : map.file_of) distinct.insert(file);
  const std::vector<std::string> files(distinct.begin(), distinct.end());
  std::vector<fs::path> paths;
  for (const std::string& file : files) paths.push_back(directory / file);
  const std::vector<FileCatalog> catalogs = read_catalogs(with_readers(paths, processes), store, processes);
  Look seen;
  seen.path = directory;
  agree(processes, [&] {
    check_index(index.string(), map, files, catalogs);
    std::vector<CutTensor> tensors;
    for (std::size_t i = 0; i < files.size(); ++i)
      for (const StoredArray& array : *catalogs[i].schema->arrays)
        tensors.push_back({array.name, array.shape, {{i, whole(array.shape)}}});
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    seen.layout = layout_of_files(files, tensors, index.string());
    seen.elsewhere = layout_elsewhere(tensors, files.size(), index.string());
  });
  for (std::size_t i = 0; i < files.size(); ++i) seen.known.emplace(files[i], KnownFile{files[i], catalogs[i]});
  return seen;
}

}  // namespace ckpt
