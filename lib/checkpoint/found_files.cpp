#include "checkpoint/found_files.hpp"

#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/read_catalogs.hpp"
#include "checkpoint/read_manifest.hpp"
#include "processes/gather_all.hpp"
#include "store/stores.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// What lies beside a checkpoint's files may be anything: what cannot be read is none of them.
bool is_checkpoint_file(const fs::directory_entry& entry, SourceStore& store) {
  std::error_code error;
  if (!entry.is_regular_file(error)) return false;
  try {
    return store.recognises(entry.path());
  } catch (const Error& unreadable) {
    spdlog::info("passed over: {}", unreadable.what());
    return false;
  }
}

std::vector<std::string> checkpoint_files_below(const fs::path& directory, SourceStore& store) {
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::exists(directory, error)) return names;  // another process's node may have it
  constexpr auto readable = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, readable, error), end; !error && it != end; it.increment(error)) {
    if (is_checkpoint_file(*it, store)) names.push_back(it->path().lexically_relative(directory).string());
  }
  if (error) throw system_error(directory.string(), "list", error.value());
  return names;
}

/// The files of tensors that any process sees: each may have a disk of its own.
std::vector<std::string> list_files(const fs::path& directory, SourceStore& store, Communicator& processes) {
  std::vector<std::string> mine;
  agree(processes, [&] { mine = checkpoint_files_below(directory, store); });
  std::set<std::string, decltype(&natural_less)> names(&natural_less);
  for (const auto& theirs : gather_all(mine, processes)) names.insert(theirs.begin(), theirs.end());
  return {names.begin(), names.end()};
}

/// For each file the process that reads it: the processes that see it take turns. Process 0 takes what none sees, to
/// say so.
std::vector<FileToRead> with_readers(const std::vector<fs::path>& files, Communicator& processes) {
  std::vector<bool> mine;
  std::error_code ignored;
  for (const auto& file : files) mine.push_back(fs::exists(file, ignored));
  const auto seen = gather_all(mine, processes);
  std::vector<FileToRead> with_readers;
  for (std::size_t i = 0; i < files.size(); ++i) {
    with_readers.push_back({files[i], 0});
    for (std::size_t turn = 0; turn < seen.size(); ++turn) {
      const std::size_t process = (i + turn) % seen.size();
      if (!seen[process][i]) continue;
      with_readers.back().reader = process;
      break;
    }
  }
  return with_readers;
}

/// Whether a path is a single file; else it is a directory. Throws input where no process sees either.
bool is_single_file(const fs::path& path, Communicator& processes) {
  std::error_code error;
  bool is_there = false;
  agree(processes, [&] { is_there = fs::exists(path, error); });
  const bool is_anywhere = processes.maximum(is_there ? 1 : 0) != 0;
  agree(processes, [&] {
    if (!is_anywhere) throw Error(Kind::input, path.string(), {"no such file or directory", "", ""});
  });
  return processes.maximum(is_there && !fs::is_directory(path, error) ? 1 : 0) != 0;
}

std::string format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return join(names, names.size());
}

FoundFiles all_files(const fs::path& path, bool is_single, SourceStore& store, Communicator& processes) {
  FoundFiles found{path, is_single, {}, {}};
  found.names = is_single ? std::vector{path.filename().string()} : list_files(path, store, processes);
  agree(processes, [&] {
    if (found.names.empty())
      throw Error(Kind::input, path.string(),
                  {"no file of tensors (" + format_names() + ") is in it", "expected a checkpoint", ""});
  });
  std::vector<fs::path> paths;
  for (const std::string& name : found.names) paths.push_back(is_single ? path : path / name);
  found.catalogs = read_catalogs(with_readers(paths, processes), store, processes);
  return found;
}

/// Whether a directory's manifest has a layout. A damaged one is noted, and does not count.
bool has_manifest(const fs::path& directory, std::optional<Error>& damaged, Communicator& processes) {
  bool is_there = false;
  agree(processes, [&] {
    try {
      is_there = carried_layout(directory).has_value();
    } catch (const Error& error) {
      damaged = error;
    }
  });
  return processes.maximum(is_there ? 1 : 0) != 0;
}

FoundFiles files_of(const Checkpoint& checkpoint, bool is_single_file) {
  FoundFiles found{checkpoint.path(), is_single_file, {}, {}};
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file) {
    if (!checkpoint.is_there(file)) continue;
    found.names.push_back(checkpoint.file_name(file));
    found.catalogs.push_back(checkpoint.file(file));
  }
  return found;
}

/// The layout that all files carry, as text; empty where there is none or they differ.
std::string layout_in(const FoundFiles& found) {
  std::string text;
  for (const auto& catalog : found.catalogs) {
    const std::string& carried = catalog.schema->layout;
    if (text.empty()) text = carried;
    if (carried == text) continue;
    spdlog::warn("the files carry different layouts: showing them without one");
    return "";
  }
  return text;
}

/// The checkpoint by the layout that the files carry, where they are the whole of what it names.
std::optional<Checkpoint> by_carried_layout(const FoundFiles& found) {
  const std::string text = layout_in(found);
  if (text.empty()) return std::nullopt;
  Layout layout = parse_layout(text, "the layout that " + found.path.string() + " carries");
  const std::vector<std::string> names = layout.files.paths(layout.mesh);
  if (found.is_single_file && names.size() > 1) {
    spdlog::info("{} is one of the {} files of a checkpoint: give its directory to see the whole", found.names[0],
                 names.size());
    return std::nullopt;
  }
  return arranged(found, std::move(layout), {"missing", "the checkpoint's own layout expects it", "restore the file"});
}

}  // namespace

FoundFiles find_files(const fs::path& path, SourceStore& store, Communicator& processes) {
  return all_files(path, is_single_file(path, processes), store, processes);
}

Checkpoint arranged(const FoundFiles& found, Layout layout, const Error::Text& missing) {
  std::vector<std::optional<FileCatalog>> catalogs;
  if (found.is_single_file) {
    catalogs.emplace_back(found.catalogs.front());
  } else {
    std::map<std::string_view, const FileCatalog*> by_name;
    for (std::size_t i = 0; i < found.names.size(); ++i) by_name[found.names[i]] = &found.catalogs[i];
    for (const std::string& name : layout.files.paths(layout.mesh)) {
      const auto at = by_name.find(name);
      if (at == by_name.end()) throw Error(Kind::input, name, missing);
      catalogs.emplace_back(*at->second);
    }
  }
  return Checkpoint::of(found.path, found.is_single_file, std::move(layout), std::move(catalogs));
}

FoundCheckpoint find_checkpoint(const CheckpointPlace& place, SourceStore& store, Communicator& processes) {
  FoundCheckpoint found;
  const bool is_single = is_single_file(place.path, processes);
  if (place.layout || (!is_single && has_manifest(place.path, found.damaged_manifest, processes))) {
    found.checkpoint = Checkpoint::open(place, store, processes);
  } else {
    found.files = all_files(place.path, is_single, store, processes);
    agree(processes, [&] { found.checkpoint = by_carried_layout(found.files); });
  }
  if (found.checkpoint) found.files = files_of(*found.checkpoint, is_single);
  return found;
}

}  // namespace ckpt
