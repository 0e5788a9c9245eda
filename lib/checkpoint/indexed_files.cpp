#include "checkpoint/indexed_files.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/read_catalogs.hpp"
#include "frameworks/cut_rules.hpp"
#include "frameworks/flat_parameters.hpp"
#include "io/posix_file.hpp"
#include "processes/gather_all.hpp"
#include "store/likely_content.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_ending = ".index.json";
constexpr std::string_view json_ending = ".json";
constexpr const char* hyper_parameters = "hyper_param.safetensors";
constexpr std::uint64_t most_index_bytes = 256ULL << 20;
constexpr std::uint64_t most_unnamed_bytes = 64ULL << 20;  // of a file that is looked into for an index

std::string text_in_file(const fs::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  if (bytes > most_index_bytes)
    throw Error(Kind::input, path.string(),
                {"has " + format_bytes(bytes), "an index of at most " + format_bytes(most_index_bytes), ""});
  std::string text(bytes, '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void check_not_empty(const fs::path& index, const std::string& text) {
  if (text.empty()) throw Error(Kind::input, index.string(), {"it is empty", "an index", "copy or download it again"});
}

/// "model.safetensors.index.json", "pytorch_model.bin.index.fp16.json".
bool is_named_as_index(const std::string& name) {
  return name.ends_with(index_ending) || (name.ends_with(json_ending) && name.find(".index.") != std::string::npos);
}

/// Whether a file of JSON says which file holds which tensor, whatever it is called: MindSpore's param_name_map.json.
bool says_weight_map(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > most_unnamed_bytes) return false;
  try {
    const std::string text = text_in_file(path);
    if (text.find("\"weight_map\"") == std::string::npos) return false;
    const auto json = parse_json(text, path.string(), {Kind::input, "an index", ""});
    if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) return false;
    const auto& map = json["weight_map"];  // Keras has lists of files in its own
    return std::all_of(map.begin(), map.end(), [](const auto& file) { return file.is_string(); });
  } catch (const Error&) {
    return false;  // some other file
  }
}

/// The indexes in a directory, as this process sees it: by their names, else by what they say.
std::vector<std::string> indexes_in(const fs::path& directory) {
  std::vector<std::string> named;
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (const std::string name = it->path().filename().string(); name.ends_with(json_ending))
      (is_named_as_index(name) ? named : others).push_back(name);
  if (named.empty()) {
    std::erase_if(others, [&](const std::string& name) { return !says_weight_map(directory / name); });
    named = std::move(others);
  }
  std::sort(named.begin(), named.end(), natural_less);
  return named;
}

/// A tensor of which index and files say different things: an error where it is taken.
using Contradictions = std::vector<std::pair<std::string, Error>>;

/// Also of tensors whose file is lost.
Contradictions contradictions_of(const std::string& origin, const WeightMap& index,
                                 const std::vector<std::string>& files, const std::vector<FileCatalog>& catalogs,
                                 const std::map<std::string, Error>& lost) {
  constexpr const char* remedy = "is the index that of these files?";
  Contradictions found;
  std::set<std::pair<std::string, std::string>> held;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const StoredArray& array : *catalogs[i].schema->arrays) {
      held.emplace(files[i], array.name);
      const auto said = index.file_of.find(array.name);
      if (said == index.file_of.end() || said->second != files[i])
        found.emplace_back(array.name,
                           Error(Kind::input, files[i],
                                 {"it holds '" + array.name + "', which " + origin +
                                      (said == index.file_of.end() ? " does not name" : " says is in " + said->second),
                                  "",
                                  remedy,
                                  {Advice::What::leave_out, ""}}));
    }
  for (const auto& [name, file] : index.file_of)
    if (const auto why = lost.find(file); why != lost.end())
      found.emplace_back(name, why->second);
    else if (!held.contains({file, name}))
      found.emplace_back(name, Error(Kind::input, file,
                                     {"it does not hold '" + name + "', where " + origin + " says it is",
                                      "",
                                      remedy,
                                      {Advice::What::leave_out, ""}}));
  return found;
}

/// What MindSpore's unified_safetensors writes beside its index: learning rates, steps. Collective.
bool has_hyper_parameters(const fs::path& index, const WeightMap& map, Communicator& processes) {
  std::error_code ignored;
  const bool is_seen = fs::exists(index.parent_path() / hyper_parameters, ignored);
  const bool is_anywhere = processes.maximum(is_seen ? 1 : 0) != 0;
  return is_anywhere && !is_named_as_index(index.filename().string()) &&
         std::none_of(map.file_of.begin(), map.file_of.end(),
                      [](const auto& entry) { return entry.second == hyper_parameters; });
}

using LostFiles = std::map<std::string, Error>;
using NamesInFiles = std::map<std::string, std::vector<std::string>>;

/// A file that the index names, as its reader sees it.
struct NamedByIndex {
  bool is_here = false;
  std::optional<Error> fault;  ///< why it cannot be read
};

NamedByIndex seen_by_reader(const fs::path& file, SourceStore& store) {
  std::error_code ignored;
  NamedByIndex seen{fs::exists(file, ignored), std::nullopt};
  if (seen.is_here && fs::is_regular_file(file, ignored) && !store.recognises(file))
    seen.fault = unlike(file, "a file of tensors");  // else reading it says more
  return seen;
}

/// The files that the index names and that no process can read, with the reason. `names_in`: what the index says is in
/// each; `readers`: parallel to `files`. Throws input if these are all. Collective.
LostFiles lost_files(const fs::path& index, const NamesInFiles& names_in, const std::vector<std::string>& files,
                     const std::vector<FileToRead>& readers, SourceStore& store, Communicator& processes) {
  std::vector<NamedByIndex> mine(files.size());
  agree(processes, [&] {
    for (std::size_t i = 0; i < files.size(); ++i)
      if (readers[i].reader == static_cast<std::uint64_t>(processes.rank()))
        mine[i] = seen_by_reader(readers[i].path, store);
  });
  const auto seen = gather_all(mine, processes);
  LostFiles lost;
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const NamedByIndex& file = seen[readers[i].reader][i];
    if (!file.is_here) absent.push_back(files[i]);
    if (file.fault) lost.emplace(files[i], *file.fault);
  }
  const bool is_one = absent.size() == 1;
  const std::string directory = index.parent_path().empty() ? "." : index.parent_path().string();
  for (const std::string& file : absent)
    lost.emplace(
        file,
        Error(Kind::input, (index.parent_path() / file).string(),
              {"no such file, which " + index.filename().string() + " names" +
                   (is_one ? "" : ", one of " + std::to_string(absent.size()) + " that are absent: " + join(absent, 4)),
               "", std::string("copy or download ") + (is_one ? "it" : "them") + " into " + shell_word(directory),
               leaving_out(names_in.at(file))}));
  agree(processes, [&] {
    if (lost.size() == files.size()) throw Error(lost.at(files.front()));
  });
  return lost;
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

/// One model in both formats of transformers, which loads the first.
bool are_one_model(const std::vector<std::string>& names) {
  return names == std::vector<std::string>{"model.safetensors.index.json", "pytorch_model.bin.index.json"};
}

}  // namespace

bool is_index(const fs::path& path) {
  const std::string name = path.filename().string();
  return is_named_as_index(name) || (name.ends_with(json_ending) && says_weight_map(path));
}

std::optional<IndexText> find_index(const fs::path& path, bool is_single_file, Communicator& processes) {
  if (is_single_file && path.extension() != json_ending) return std::nullopt;
  std::string name;
  std::string text;
  agree(processes, [&] {
    std::error_code ignored;
    if (is_single_file) {
      if (fs::exists(path, ignored) && is_index(path)) {
        text = text_in_file(path);
        check_not_empty(path, text);
      }
      return;
    }
    const std::vector<std::string> names = indexes_in(path);
    if (names.empty()) return;
    if (names.size() > 1 && !are_one_model(names))
      throw Error(Kind::input, path.string(),
                  {"it holds the indexes " + join(names), "one",
                   "give the one that is meant, for example " + shell_word((path / names.front()).string())});
    if (names.size() > 1)
      log::warn("{}: {} is taken, as transformers takes it; what {} names is not looked at", path.string(),
                names.front(), names.back());
    name = names.front();
    text = text_in_file(path / name);
    check_not_empty(path / name, text);
  });
  const auto names = processes.all_gather(name);
  const auto texts = processes.all_gather(text);
  IndexText found{path, ""};
  agree(processes, [&] {
    if (!is_single_file) found.path = path / agreed_text(names, "the index in " + path.string(), processes);
    found.text = agreed_text(texts, found.path.string(), processes);
  });
  if (found.text.empty()) return std::nullopt;
  return found;
}

WeightMap weight_map_of(const IndexText& index) {
  try {
    auto said = parse_reference(index.text, index.path.string());
    auto* const found = std::get_if<WeightMap>(&said);
    return found != nullptr ? std::move(*found) : WeightMap{};
  } catch (const Error& error) {
    if (error.object().find(": /weight_map") != std::string::npos) throw;
    const LikelyContent likely = likely_content(index.path, index.text);
    const bool is_other = !likely.what.empty() && !likely.what.starts_with("text");
    throw Error(Kind::input, is_other ? index.path.string() : error.object(),
                {is_other ? "it seems to be " + likely.what : error.text().found,
                 "the index of a checkpoint ({\"weight_map\": {NAME: FILE}})",
                 is_other && !likely.remedy.empty() ? likely.remedy : "copy or download it again"});
  }
}

Error no_weight_map(const fs::path& file) {
  return {Kind::input,
          file.string(),
          {"it holds shapes of tensors, and does not say which files have them",
           "the index of a checkpoint ({\"weight_map\": {NAME: FILE}})",
           "copy the checkpoint's own index to its place, or, where it has none, give this file another name"}};
}

CheckpointProbe probe_indexed(const fs::path& index, const WeightMap& map, SourceStore& store,
                              Communicator& processes) {
  const fs::path directory = index.parent_path();
  std::set<std::string, decltype(&natural_less)> distinct(&natural_less);
  NamesInFiles names_in;
  for (const auto& [name, file] : map.file_of) {
    distinct.insert(file);
    names_in[file].push_back(name);
  }
  WeightMap all = map;
  if (has_hyper_parameters(index, map, processes)) {
    distinct.insert(hyper_parameters);
    names_in[hyper_parameters];
  }
  std::vector<std::string> files(distinct.begin(), distinct.end());
  std::vector<fs::path> paths;
  for (const std::string& file : files) paths.push_back(directory / file);
  const std::vector<FileToRead> readers = with_readers(paths, processes);
  const LostFiles lost = lost_files(index, names_in, files, readers, store, processes);
  std::vector<FileToRead> present;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!lost.contains(files[i])) present.push_back(readers[i]);
  std::erase_if(files, [&](const std::string& file) { return lost.contains(file); });
  std::vector<FileCatalog> catalogs = read_catalogs(present, store, processes);
  CheckpointProbe seen;
  seen.path = directory;
  agree(processes, [&] {
    for (FileCatalog& catalog : catalogs) refuse_flat_parameters(catalog);
    for (std::size_t i = 0; i < files.size(); ++i)
      if (files[i] == hyper_parameters && distinct.size() > 1)
        for (const StoredArray& array : *catalogs[i].schema->arrays) all.file_of.try_emplace(array.name, files[i]);
    seen.contradictions = contradictions_of(index.string(), all, files, catalogs, lost);
    std::vector<CutTensor> tensors;
    for (std::size_t i = 0; i < files.size(); ++i)
      for (const StoredArray& array : *catalogs[i].schema->arrays)
        if (const auto said = all.file_of.find(array.name); said == all.file_of.end() || said->second == files[i])
          tensors.push_back({array.name, array.shape, {{i, whole(array.shape)}}});
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    seen.layout = layout_of_files(files, tensors, index.string());
    seen.elsewhere = layout_elsewhere(tensors, files.size(), index.string());
  });
  for (std::size_t i = 0; i < files.size(); ++i) seen.known.emplace(files[i], KnownFile{files[i], catalogs[i]});
  for (const auto& [file, why] : lost)
    seen.known.emplace(file, KnownFile{file, std::nullopt});  // named, though not in the layout
  return seen;
}

}  // namespace ckpt
