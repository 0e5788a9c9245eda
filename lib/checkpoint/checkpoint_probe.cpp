#include "checkpoint/checkpoint_probe.hpp"

#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "checkpoint/directory_hints.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/files_on_hosts.hpp"
#include "checkpoint/indexed_files.hpp"
#include "frameworks/describe.hpp"
#include "frameworks/flat_parameters.hpp"
#include "frameworks/only_word.hpp"

namespace ckpt {

namespace {

/// A Described, as one process sends it to the others: layouts as JSON, files apart from their catalogs.
struct DescriptionMessage {
  std::string layout;
  std::string elsewhere;
  std::string origin;
  std::vector<std::pair<std::string, std::string>> files;  ///< names and paths
  std::string catalogs;
  std::vector<std::string> left_out;
  std::vector<Sidecar> sidecars;
  std::map<std::string, std::string> masters;
  bool completes_given = false;
  std::vector<std::string> others;
};

std::string message_of(const DirectoryDescription& described) {
  const auto& [layout, elsewhere, files, left_out, sidecars, masters, completes_given, others] = described;
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<FileCatalog> catalogs;
  for (const DescribedFile& file : files) {
    names.emplace_back(file.name, file.path);
    catalogs.push_back(file.catalog);
  }
  return wire::packed(to_json(layout), to_json(elsewhere), layout.origin, names, encode(catalogs), left_out, sidecars,
                      masters, completes_given, others);
}

DirectoryDescription described_in(const std::string& bytes) {
  auto message = wire::unpacked<DescriptionMessage>(bytes);
  DirectoryDescription described{parse_layout(message.layout, message.origin),
                                 parse_layout(message.elsewhere, message.origin),
                                 {},
                                 std::move(message.left_out),
                                 std::move(message.sidecars),
                                 std::move(message.masters),
                                 message.completes_given,
                                 std::move(message.others)};
  std::vector<FileCatalog> catalogs = decode_catalogs({message.catalogs});
  for (std::size_t i = 0; i < catalogs.size(); ++i)
    described.files.push_back({message.files.at(i).first, message.files.at(i).second, std::move(catalogs[i])});
  return described;
}

/// Whether work on input succeeds on all processes. Collective; throws what is no fault of the input.
bool succeeds(Communicator& processes, const std::function<void()>& work) {
  try {
    agree(processes, work);
    return true;
  } catch (const Error& error) {
    if (error.kind() != Kind::input || !processes.failed_together()) throw;
    processes.set_failed_together(false);
    return false;
  }
}

/// The directory's own metadata, read by a process that sees all of its files. If a layout is known, takes only the
/// parts that reading the files requires, and those that complete the given layout.
std::optional<DirectoryDescription> describe_together(const std::filesystem::path& directory, const Layout* given,
                                                      bool has_layout, SourceStore& store, Communicator& processes) {
  std::optional<SelfDescribed> found;
  bool is_for_given = false;
  agree(processes, [&] {
    found = SelfDescribed::find(directory);
    is_for_given = found && given != nullptr && found->completes(*given);
  });
  const bool is_seen = found && (!has_layout || is_for_given || !found->has_plain_files());
  const auto size = static_cast<std::uint64_t>(processes.size());
  const std::vector<std::uint64_t> readers = readers_of_directory(directory, is_seen, processes);
  if (readers.empty()) return std::nullopt;
  std::uint64_t reader = readers.front();
  std::optional<DirectoryDescription> described;
  std::string message;
  const auto read = [&] {
    if (reader != static_cast<std::uint64_t>(processes.rank())) return;
    described = is_for_given ? found->complete(*given, store) : found->describe(store);
    if (size > 1) message = message_of(*described);
  };
  // Another step's files may be what one host has more of: one that lacks a file of this step is not the last.
  const bool is_read = std::ranges::any_of(readers, [&](std::uint64_t each) {
    reader = each;
    return readers.size() > 1 && succeeds(processes, read);
  });
  if (!is_read) {
    reader = readers.front();
    with_hosts_of_files(directory, NeededOn::one_host, processes, [&] { agree(processes, read); });
  }
  if (size > 1) message = processes.broadcast(message, static_cast<int>(reader));
  agree(processes, [&] {
    if (!described) described = described_in(message);
  });
  if (!described->left_out.empty())
    log::warn("{}: left out, as they are neither tensors nor numbers nor texts: {}", directory.string(),
              join(described->left_out));
  return described;
}

}  // namespace

bool is_single_file(const std::filesystem::path& path, SourceStore& store, Communicator& processes) {
  std::optional<FileStatus> status;
  agree(processes, [&] { status = store.look_at(path); });
  const bool is_anywhere = processes.maximum(status ? 1 : 0) != 0;
  agree(processes, [&] {
    if (!is_anywhere) throw not_found_error(path, "a checkpoint");
  });
  return processes.maximum(status && !status->is_directory ? 1 : 0) != 0;
}

namespace {

/// Whether a path names, for any process, one checkpoint among others of a directory. Collective.
bool is_part_anywhere(const std::filesystem::path& path, Communicator& processes) {
  bool is_part = false;
  agree(processes, [&] { is_part = SelfDescribed::is_part(path); });
  return processes.maximum(is_part ? 1 : 0) != 0;
}

/// The names that a path's links choose among their neighbours. Links to other places may lead to a host's own disk.
std::vector<std::string> choices_of_links(const std::filesystem::path& path) {
  std::error_code none;
  std::vector<std::string> names;
  std::filesystem::path place;
  for (const auto& folder : path) {
    const std::filesystem::path above = std::filesystem::canonical(place, none);
    place /= folder;
    if (!std::filesystem::is_symlink(place, none)) continue;
    const std::filesystem::path target = std::filesystem::canonical(place, none);
    if (target.parent_path() == above) names.push_back(target.filename().string());
  }
  return names;
}

/// The steps that a path means on this process's host: where its links, or one named `latest` in it, lead, and what a
/// file in the directory says. Empty if there is none.
std::string steps_meant_by(const std::filesystem::path& path) {
  std::error_code none;
  std::filesystem::path given = std::filesystem::absolute(path, none).lexically_normal();
  if (!given.has_filename()) given = given.parent_path();  // "dir/"
  std::vector<std::string> steps = choices_of_links(given);
  for (const auto& folder : std::filesystem::canonical(path, none))
    if (is_of_step(folder.string()) && std::find(given.begin(), given.end(), folder) == given.end() &&
        std::find(steps.begin(), steps.end(), folder) == steps.end())
      steps.push_back(folder.string());
  const std::filesystem::path latest = path / "latest";
  if (std::filesystem::is_symlink(latest, none)) {
    steps.push_back(std::filesystem::read_symlink(latest, none).filename().string());
    return join(steps);
  }
  for (const char* const name : {"latest", "latest_checkpointed_iteration.txt"})
    if (std::filesystem::is_regular_file(path / name, none)) steps.push_back(only_word(path / name));
  return join(steps);
}

/// Hosts with disks of their own must not mix two steps. Collective; throws input.
void check_same_step(const std::filesystem::path& path, Communicator& processes) {
  if (processes.host_of(0).empty()) return;
  std::string mine;
  agree(processes, [&] { mine = steps_meant_by(path); });
  const std::vector<std::string> steps = processes.all_gather(mine);
  agree(processes, [&] {
    std::size_t first = 0;
    while (first < steps.size() && steps[first].empty()) ++first;
    for (std::size_t p = first; p < steps.size(); ++p)
      if (!steps[p].empty() && steps[p] != steps[first])
        throw Error(Kind::input, path.string(),
                    {"it means step " + steps[first] + " for " + processes.name_of(static_cast<int>(first)) + " and " +
                         steps[p] + " for " + processes.name_of(static_cast<int>(p)),
                     "the same on all hosts", "give the path of one step"});
  });
}

}  // namespace

void let_show_neighbours(const std::filesystem::path& path, bool is_single_file, SourceStore& store) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (!is_single_file && !error) let_show(store, real.parent_path());
}

CheckpointProbe probe(const CheckpointPlace& place, SourceStore& store, Communicator& processes) {
  CheckpointProbe seen;
  seen.path = place.path;
  check_same_step(place.path, processes);
  const bool is_part = is_part_anywhere(place.path, processes);
  if (is_part)
    seen.path = place.path.has_parent_path() ? place.path.parent_path() : ".";
  else
    seen.is_single_file = is_single_file(place.path, store, processes);
  let_show_neighbours(seen.path, seen.is_single_file, store);
  seen.layout = place.layout;
  seen.threads = place.threads;
  if (!seen.is_single_file) {
    // A directory may stand for one file in it, which carries a manifest of its own.
    if (!is_part && place.manifest && place.manifest->directory == place.path.string()) seen.manifest = place.manifest;
    if (!seen.layout && !is_part) {
      if (!seen.manifest) seen.manifest = read_carried(place.path, processes);
      seen.damaged_manifest = seen.manifest->damage;
      seen.layout = carried_layout(seen.manifest, processes);
    }
    const Layout* const given = place.layout ? &*place.layout : nullptr;
    auto described = describe_together(place.path, given, seen.layout.has_value(), store, processes);
    if (described) {
      for (DescribedFile& file : described->files)
        seen.known.emplace(std::move(file.name), KnownFile{std::move(file.path), std::move(file.catalog)});
      for (std::string& other : described->others) seen.known.try_emplace(other, KnownFile{other, std::nullopt});
      seen.is_completed = described->completes_given;
      if (!seen.layout || seen.is_completed) seen.layout = std::move(described->layout);
      seen.sidecars = std::move(described->sidecars);
      seen.masters = std::move(described->masters);
      if (given == nullptr)
        for (auto& [name, file] : seen.known)
          if (file.catalog) refuse_flat_parameters(*file.catalog, &*seen.layout);
      if (!place.layout || seen.is_completed) seen.elsewhere = std::move(described->elsewhere);
    }
  }
  if (seen.layout) return seen;
  const auto index = find_index(place.path, seen.is_single_file, processes);
  if (!index) return seen;
  WeightMap map;
  agree(processes, [&] { map = weight_map_of(*index); });
  if (map.file_of.empty()) {
    seen.no_index = no_weight_map(index->path);
    agree(processes, [&] {
      if (seen.is_single_file) throw Error(*seen.no_index);
    });
    return seen;
  }
  CheckpointProbe indexed = probe_indexed(index->path, map, store, processes);
  indexed.manifest = std::move(seen.manifest);
  indexed.damaged_manifest = std::move(seen.damaged_manifest);
  return indexed;
}

}  // namespace ckpt
