#include "inspect/card_files.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/read_catalogs.hpp"
#include "checkpoint/read_manifest.hpp"
#include "cli/advice.hpp"
#include "processes/gather_all.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

namespace fs = std::filesystem;

/// What lies beside a checkpoint's files may be anything: what cannot be read is none of them.
bool is_checkpoint_file(const fs::directory_entry& entry, SourceStore& store) {
  std::error_code error;
  if (!entry.is_regular_file(error)) return false;
  try {
    return store.recognises(entry.path());
  } catch (const Error& unreadable) {
    spdlog::info("passed over: {}", message(unreadable));
    return false;
  }
}

std::vector<std::string> checkpoint_files_below(const fs::path& directory) {
  std::vector<std::string> names;
  Stores stores;
  std::error_code error;
  if (!fs::exists(directory, error)) return names;  // another process's node may have it
  constexpr auto readable = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, readable, error), end; !error && it != end; it.increment(error)) {
    if (is_checkpoint_file(*it, stores.reading())) names.push_back(it->path().lexically_relative(directory).string());
  }
  if (error) throw system_error(directory.string(), "list", error.value());
  return names;
}

/// The files of tensors that any process sees: each may have a disk of its own.
std::vector<std::string> list_files(const fs::path& directory, Communicator& processes) {
  std::vector<std::string> mine;
  agree(processes, [&] { mine = checkpoint_files_below(directory); });
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

/// The layout that all files carry, as text; empty where there is none or they differ.
std::string layout_in_files(const CardFiles& files) {
  std::string text;
  for (const auto& catalog : files.catalogs) {
    const std::string& carried = catalog.schema->layout;
    if (text.empty()) text = carried;
    if (carried == text) continue;
    spdlog::warn("the files carry different layouts: showing them without one");
    return "";
  }
  return text;
}

/// Whether a directory's manifest has a layout: that comes before what the files carry. A damaged one is told of, and
/// the files are shown all the same.
bool has_manifest(const fs::path& directory, Communicator& processes) {
  bool is_there = false;
  agree(processes, [&] {
    try {
      is_there = carried_layout(directory).has_value();
    } catch (const Error& damaged) {
      spdlog::warn("{}", message(damaged));
    }
  });
  return processes.maximum(is_there ? 1 : 0) != 0;
}

CardFiles arranged(Checkpoint checkpoint) {
  CardFiles files;
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file) {
    if (!checkpoint.is_there(file)) continue;
    files.names.push_back(checkpoint.file_name(file));
    files.catalogs.push_back(checkpoint.file(file));
    files.prefixes.push_back(checkpoint.layout().files.entries()[checkpoint.table().entry(file)].prefix);
  }
  files.arranged = std::move(checkpoint);
  return files;
}

/// Arranges the files by the layout that they carry, where they are the whole of what it names.
CardFiles by_carried_layout(CardFiles files, const fs::path& path, bool is_single_file) {
  files.prefixes.resize(files.names.size());
  const std::string text = layout_in_files(files);
  if (text.empty()) return files;
  Layout layout = parse_layout(text, "the layout that " + path.string() + " carries");
  const std::vector<std::string> names = layout.files.paths(layout.mesh);
  if (is_single_file && names.size() > 1) {
    spdlog::info("{} is one of the {} files of a checkpoint: give its directory to see the whole", files.names[0],
                 names.size());
    return files;
  }
  std::vector<std::optional<FileCatalog>> catalogs;
  for (const std::string& name : names) {
    const auto found = is_single_file ? files.names.begin() : std::find(files.names.begin(), files.names.end(), name);
    if (found == files.names.end())
      throw Error(Kind::input, name, {"missing", "the checkpoint's own layout expects it", "restore the file"});
    catalogs.emplace_back(files.catalogs[static_cast<std::size_t>(found - files.names.begin())]);
  }
  return arranged(Checkpoint::of(path, is_single_file, std::move(layout), std::move(catalogs)));
}

std::vector<fs::path> below(const fs::path& directory, const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  files.reserve(names.size());
  for (const auto& name : names) files.push_back(directory / name);
  return files;
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

CardFiles all_files(const fs::path& path, bool is_single, SourceStore& store, Communicator& processes) {
  CardFiles files;
  files.is_single_file = is_single;
  files.names = is_single ? std::vector{path.filename().string()} : list_files(path, processes);
  agree(processes, [&] {
    if (files.names.empty())
      throw Error(Kind::input, path.string(),
                  {"no file of tensors (HDF5, safetensors) is in it", "expected a checkpoint", ""});
  });
  files.catalogs = read_catalogs(with_readers(is_single ? std::vector{path} : below(path, files.names), processes),
                                 store, processes);
  return files;
}

}  // namespace

CardFiles find_card_files(const fs::path& path, SourceStore& store, Communicator& processes) {
  return all_files(path, is_single_file(path, processes), store, processes);
}

CardFiles read_card_files(const fs::path& path, const std::optional<Layout>& given, Communicator& processes) {
  const bool is_single = is_single_file(path, processes);
  Stores stores;
  if (given || (!is_single && has_manifest(path, processes)))
    return arranged(Checkpoint::open({path, given}, stores.reading(), processes));
  CardFiles files = all_files(path, is_single, stores.reading(), processes);
  agree(processes, [&] { files = by_carried_layout(std::move(files), path, is_single); });
  return files;
}

}  // namespace ckpt::cli
