#include "inspect/card_files.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/one_file_each.hpp"
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
    spdlog::info("passed over: {}", unreadable.what());
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
  std::string mine;
  agree(processes, [&] {
    for (const auto& name : checkpoint_files_below(directory)) mine += name + '\0';
  });
  std::set<std::string, decltype(&natural_less)> names(&natural_less);
  for (const auto& theirs : processes.all_gather(mine)) {
    for (std::string_view rest = theirs; !rest.empty(); rest.remove_prefix(rest.find('\0') + 1))
      names.emplace(rest.substr(0, rest.find('\0')));
  }
  return {names.begin(), names.end()};
}

/// For each file the process that reads it: the processes that see it take turns. Process 0 takes what none sees, to
/// say so.
std::vector<int> readers_of(const std::vector<fs::path>& files, Communicator& processes) {
  std::string mine;
  std::error_code ignored;
  for (const auto& file : files) mine += fs::exists(file, ignored) ? '1' : '0';
  const auto seen = processes.all_gather(mine);
  std::vector<int> readers(files.size(), 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t turn = 0; turn < seen.size(); ++turn) {
      const std::size_t process = (i + turn) % seen.size();
      if (seen[process][i] == '0') continue;
      readers[i] = static_cast<int>(process);
      break;
    }
  }
  return readers;
}

std::vector<FileCatalog> read_catalogs(const std::vector<fs::path>& files, Communicator& processes) {
  const auto readers = readers_of(files, processes);
  std::string mine;
  agree(processes, [&] {
    Stores stores;
    std::vector<FileCatalog> catalogs;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (readers[i] == processes.rank()) catalogs.push_back(stores.reading().catalog(files[i]));
    }
    mine = encode(catalogs);
  });
  const auto by_process = decode_catalogs(processes.all_gather(mine));
  // They come process by process; each process's own are in the files' order.
  std::vector<std::size_t> next(static_cast<std::size_t>(processes.size()), 0);
  for (const int reader : readers) {
    for (auto after = static_cast<std::size_t>(reader) + 1; after < next.size(); ++after) ++next[after];
  }
  std::vector<FileCatalog> catalogs;
  catalogs.reserve(readers.size());
  for (const int reader : readers) catalogs.push_back(by_process[next[static_cast<std::size_t>(reader)]++]);
  return catalogs;
}

std::vector<std::string> files_of(const Layout& layout) {
  check_one_file_each(layout);
  std::vector<std::string> names;
  for (std::uint64_t position = 0; position < layout.mesh.size(); ++position)
    names.push_back(layout.files.path(layout.mesh, position));
  return names;
}

/// The layout that all files carry, as text; empty where there is none or they differ.
std::string carried_layout(const CardFiles& files) {
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

/// Arranges the files by the layout that they carry, where they are the whole of what it names.
void apply_carried_layout(CardFiles& files, bool is_single_file) {
  const std::string text = carried_layout(files);
  if (text.empty()) return;
  Layout layout = parse_layout(text, "the checkpoint's own layout");
  if (is_single_file && layout.mesh.size() > 1) {
    spdlog::info("{} is one of the {} files of a checkpoint: give its directory to see the whole", files.names[0],
                 layout.mesh.size());
    return;
  }
  if (!is_single_file) {
    std::vector<FileCatalog> arranged;
    for (const auto& name : files_of(layout)) {
      const auto found = std::find(files.names.begin(), files.names.end(), name);
      if (found == files.names.end())
        throw Error(Kind::input, name, {"missing", "the checkpoint's own layout expects it", "restore the file"});
      arranged.push_back(files.catalogs[static_cast<std::size_t>(found - files.names.begin())]);
    }
    files.names = files_of(layout);
    files.catalogs = std::move(arranged);
  }
  files.layout = std::move(layout);
}

std::vector<fs::path> below(const fs::path& directory, const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  files.reserve(names.size());
  for (const auto& name : names) files.push_back(directory / name);
  return files;
}

/// A layout of fewer cards than there are files is likely the wrong one, and may yet fit the files that it names.
void warn_of_others(const std::vector<std::string>& found, const std::vector<std::string>& named,
                    const std::string& origin) {
  const std::set<std::string> known(named.begin(), named.end());
  std::vector<std::string> others;
  std::copy_if(found.begin(), found.end(), std::back_inserter(others),
               [&](const std::string& name) { return !known.contains(name); });
  if (!others.empty()) spdlog::warn("{} does not name these files, which are left out: {}", origin, join(others));
}

CardFiles read_single_file(const fs::path& path, const std::optional<Layout>& given, Communicator& processes) {
  agree(processes, [&] {
    if (given && given->mesh.size() > 1)
      throw Error(Kind::layout, path.string(),
                  {"a single file", given->origin + " has " + std::to_string(given->mesh.size()) + " cards",
                   "give the directory that holds their files"});
  });
  CardFiles files{{path.filename().string()}, read_catalogs({path}, processes), given};
  if (!given) agree(processes, [&] { apply_carried_layout(files, true); });
  return files;
}

}  // namespace

CardFiles read_card_files(const fs::path& path, const std::optional<Layout>& given, Communicator& processes) {
  std::error_code error;
  bool is_there = false;
  agree(processes, [&] { is_there = fs::exists(path, error); });
  const bool is_anywhere = processes.maximum(is_there ? 1 : 0) != 0;
  agree(processes, [&] {
    if (!is_anywhere) throw Error(Kind::input, path.string(), {"no such file or directory", "", ""});
  });
  const bool is_single = processes.maximum(is_there && !fs::is_directory(path, error) ? 1 : 0) != 0;
  if (is_single) return read_single_file(path, given, processes);
  const auto found = list_files(path, processes);
  CardFiles files{given ? files_of(*given) : found, {}, given};
  agree(processes, [&] {
    if (files.names.empty())
      throw Error(Kind::input, path.string(),
                  {"no file of tensors (HDF5, safetensors) is in it", "expected a checkpoint", ""});
  });
  if (given) warn_of_others(found, files.names, given->origin);
  files.catalogs = read_catalogs(below(path, files.names), processes);
  if (!given) agree(processes, [&] { apply_carried_layout(files, false); });
  return files;
}

}  // namespace ckpt::cli
