#include "checkpoint/found_files.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint_probe.hpp"
#include "checkpoint/directory_hints.hpp"
#include "checkpoint/indexed_files.hpp"
#include "checkpoint/missing_layout.hpp"
#include "checkpoint/read_catalogs.hpp"
#include "checkpoint/shard_checkpoint.hpp"
#include "checkpoint/whole_file_check.hpp"
#include "frameworks/flat_parameters.hpp"
#include "frameworks/rank_files.hpp"
#include "processes/gather_all.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/stores.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// Any file may lie beside a checkpoint's own: one that cannot be read does not belong to it.
bool is_checkpoint_file(const fs::directory_entry& entry, SourceStore& store) {
  std::error_code error;
  if (!entry.is_regular_file(error)) return false;
  try {
    return store.recognises(entry.path());
  } catch (const Error& unreadable) {
    log::info("passed over: {}", unreadable.what());
    return false;
  }
}

/// A rank's folder, or a step's, that lies elsewhere. Links into the directory itself lead to what is found there.
bool is_linked_folder(const fs::directory_entry& entry, const fs::path& directory) {
  const std::string name = entry.path().filename().string();
  std::error_code none;
  const bool may_hold_tensors = number_of_rank(name) || is_of_step(name) || name == "latest";
  if (!may_hold_tensors || !entry.is_symlink(none) || !entry.is_directory(none)) return false;
  const fs::path within = fs::canonical(entry.path(), none).lexically_relative(fs::canonical(directory, none));
  return !none && (within.empty() || *within.begin() == "..");
}

std::vector<std::string> checkpoint_files_below(const fs::path& directory, SourceStore& store) {
  std::vector<std::string> names;
  std::error_code error;
  const bool is_here = fs::exists(directory, error);
  if (!is_here && !error) return names;                   // another process's host may have it
  if (is_here) fs::directory_iterator(directory, error);  // the iterator below takes what may not be listed for empty
  if (error) throw system_error(directory.string(), "list", error.value());
  constexpr auto readable = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, readable, error), end; !error && it != end; it.increment(error)) {
    // git and huggingface_hub keep copies in hidden folders, which are not a second checkpoint.
    if (it->path().filename().string().starts_with('.') && it->is_directory()) it.disable_recursion_pending();
    if (is_checkpoint_file(*it, store)) names.push_back(it->path().lexically_relative(directory).string());
    if (it.depth() > 0 || !is_linked_folder(*it, directory)) continue;
    std::error_code unreadable;
    for (const auto& inner : fs::directory_iterator(it->path(), readable, unreadable))
      if (is_checkpoint_file(inner, store)) names.push_back((it->path().filename() / inner.path().filename()).string());
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

/// Pieces of torch's DCP can be read in their own directories alone. Below a directory with files of its own those are
/// left out, of which is told; a directory without is above the checkpoints. Throws input.
void leave_out_runs(const fs::path& path, std::vector<std::string>& names, SourceStore& store) {
  std::set<std::string> runs;
  std::vector<std::string> own;
  for (const std::string& name : names) {
    if (name.ends_with(torch::dcp_ending)) runs.insert(fs::path(name).parent_path().string());
    if (name.find('/') == std::string::npos && !is_state_of_trainer(name)) own.push_back(name);
  }
  if (runs.empty()) return;
  if (own.empty()) {
    if (auto stale = stale_pointer(path, store)) throw std::move(*stale);
    if (const auto below = checkpoints_below(path, store); !below.empty()) throw parent_directory_error(path, below);
    return;
  }
  runs.erase("");  // those right in the directory
  if (runs.empty()) return;
  if (own.size() == 1) refuse_beside_steps(path, own.front(), store);
  std::erase_if(names, [&](const std::string& name) { return runs.contains(fs::path(name).parent_path().string()); });
  log::warn("{}: these files are read: {}; the checkpoints of torch.distributed.checkpoint below it are not: {}",
            path.string(), join(names), join({runs.begin(), runs.end()}));
}

FoundFiles all_files(const fs::path& path, bool is_single, SourceStore& store, Communicator& processes) {
  FoundFiles found{path, is_single, {}, {}};
  found.names = is_single ? std::vector{path.filename().string()} : list_files(path, store, processes);
  agree(processes, [&] {
    if (found.names.empty()) throw no_tensors_error(path, store, names_of_files(formats()));
    if (!is_single) leave_out_runs(path, found.names, store);
  });
  std::vector<fs::path> paths;
  for (const std::string& name : found.names) paths.push_back(is_single ? path : path / name);
  found.catalogs = read_catalogs(with_readers(paths, processes), store, processes);
  return found;
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
    log::warn("the files carry different layouts: showing them without one");
    return "";
  }
  return text;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The layout that the files carry, where they are the whole of what it names. A merged file has the layout of one card
/// and any name.
std::optional<Layout> carried_by_all(const FoundFiles& found) {
  const std::string text = layout_in(found);
  if (text.empty()) return std::nullopt;
  Layout layout = parse_layout(text, "the layout that " + found.path.string() + " carries");
  const std::vector<std::string> names = layout.files.paths(layout.mesh);
  if (found.is_single_file && names.size() > 1) {
    log::info("{} is one of the {} files of a checkpoint: give its directory to see the whole", found.names[0],
              names.size());
    return std::nullopt;
  }
  if (!found.is_single_file && is_of_one_file(layout) && !contains(found.names, names.front())) return std::nullopt;
  for (const std::string& name : names)
    if (!found.is_single_file && !contains(found.names, name))
      throw Error(Kind::input, name, {"missing, though the checkpoint's own layout names it", "", "restore the file"});
  return layout;
}

/// The layout that follows from what each rank's file says of its pieces, if any does. Gives why what they say is not
/// enough, where flat parameters of FSDP1 are the reason.
std::optional<Error> read_as_ranks(const FoundFiles& found, CheckpointProbe& seen, SourceStore& store) {
  const auto flat = [&] { return flat_parameters_alone(found.names, found.catalogs, found.path.string()); };
  std::optional<DirectoryDescription> described;
  try {
    described = describe_rank_files(found.names, found.catalogs, "what " + found.path.string() + " says of itself");
  } catch (const Error&) {
    if (auto why = unlike_one_checkpoint(found, store)) throw std::move(*why);
    if (auto why = flat()) return why;
    throw;
  }
  if (!described) return found.names.size() == 1 ? std::nullopt : flat();
  if (auto lost = missing_by_count(found)) throw std::move(*lost);
  seen.layout = std::move(described->layout);
  seen.elsewhere = std::move(described->elsewhere);
  const auto of_flat = parts_of_flat(found.catalogs);
  for (DescribedFile& file : described->files) {
    refuse_flat_parameters(file.catalog, nullptr, of_flat);
    seen.known.emplace(std::move(file.name), KnownFile{std::move(file.path), std::move(file.catalog)});
  }
  return std::nullopt;
}

/// Makes of a directory without a layout the one file that is the whole, or the files that are so together. Collective.
void take_whole(FoundFiles& found, CheckpointProbe& seen, SourceStore& store, Communicator& processes) {
  std::optional<std::size_t> whole;
  std::optional<WeightMap> numbered;
  agree(processes, [&] {
    whole = whole_file(found, store);
    if (!whole) numbered = numbered_parts(found);
  });
  if (whole) {
    found = {found.path / found.names[*whole], true, {found.names[*whole]}, {found.catalogs[*whole]}};
    seen.path = found.path;
    seen.is_single_file = true;
    agree(processes, [&] { seen.layout = carried_by_all(found); });
  } else if (numbered) {
    CheckpointProbe together = probe_indexed(found.path / "the names of the files", *numbered, store, processes);
    together.threads = seen.threads;
    seen = std::move(together);
  }
}

/// The first array that cannot be read, with its reason, in words; empty where all can.
std::string unread_array(const FoundFiles& found) {
  for (std::size_t i = 0; i < found.names.size(); ++i)
    for (const StoredArray& array : *found.catalogs[i].schema->arrays)
      if (array.refusal) return found.names[i] + ": /" + array.name + ": " + array.refusal->what();
  return "";
}

/// The error text for files that look like those of all ranks. `unread`: the array that could not be read, if any.
Error::Text ranks_without_layout(const FoundFiles& found, const std::string& unread) {
  const bool is_one = found.names.size() == 1;
  return {"it carries no layout of its own, and its " +
              (is_one ? "one file does not say" : std::to_string(found.names.size()) + " files do not say") +
              " how they are cut" + (unread.empty() ? "" : " (" + unread + ")"),
          "",
          is_one ? "where it is the only rank's, nothing is cut: give the file itself, " +
                       shell_word((found.path / found.names.front()).string())
                 : "",
          {Advice::What::draft_layout, found.path.string()}};
}

KnownFiles known_files(const FoundFiles& found) {
  KnownFiles known;
  for (std::size_t i = 0; i < found.names.size(); ++i)
    known.emplace(found.names[i], KnownFile{found.names[i], found.catalogs[i]});
  return known;
}

}  // namespace

FoundFiles find_files(const fs::path& path, SourceStore& store, Communicator& processes) {
  const bool is_single = is_single_file(path, store, processes);
  let_show_neighbours(path, is_single, store);
  return all_files(path, is_single, store, processes);
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
  return find_probed(probe(place, store, processes), store, processes);
}

FoundCheckpoint find_probed(CheckpointProbe seen, SourceStore& store, Communicator& processes) {
  FoundCheckpoint found;
  found.damaged_manifest = std::move(seen.damaged_manifest);
  if (!seen.layout) {
    found.files = all_files(seen.path, seen.is_single_file, store, processes);
    agree(processes, [&] {
      seen.layout = carried_by_all(found.files);
      if (!seen.layout && !seen.is_single_file) found.unplaced = read_as_ranks(found.files, seen, store);
    });
    bool is_carried = seen.layout && !seen.elsewhere;
    if (!seen.layout && !seen.is_single_file) {
      take_whole(found.files, seen, store, processes);
      is_carried = seen.layout && seen.is_single_file;
    }
    if (seen.layout || seen.is_single_file)
      found.unplaced.reset();
    else if (!found.unplaced)
      found.unplaced = seen.no_index;
    if (!is_carried && !found.unplaced) {
      const auto of_flat = parts_of_flat(found.files.catalogs);
      for (FileCatalog& catalog : found.files.catalogs) refuse_flat_parameters(catalog, nullptr, of_flat);
    }
    KnownFiles read = known_files(found.files);
    seen.known.merge(read);  // where more is known than was read, that stays
  }
  if (!seen.layout) return found;
  take_shards_as_cards(seen, processes);
  found.checkpoint = Checkpoint::open_as(seen.path, seen.is_single_file, std::move(*seen.layout), std::move(seen.known),
                                         store, processes);
  if (seen.manifest && !seen.is_single_file && seen.manifest->directory == seen.path.string())
    found.checkpoint->keep_manifest(std::move(seen.manifest));
  if (seen.elsewhere) {
    found.checkpoint->set_layout_elsewhere(std::move(*seen.elsewhere));
    found.checkpoint->set_describes_itself(!seen.is_completed);
  }
  found.checkpoint->set_sidecars(std::move(seen.sidecars));
  found.checkpoint->set_masters(std::move(seen.masters));
  found.checkpoint->set_contradictions(std::move(seen.contradictions));
  found.files = files_of(*found.checkpoint, seen.is_single_file);
  return found;
}

std::optional<Layout> layout_of_itself(const fs::path& path, SourceStore& store, Communicator& processes) {
  bool is_readable = false;
  agree(processes, [&] {
    const auto status = store.look_at(path);
    is_readable = status && (status->is_directory || is_index(path) || store.recognises(path));
  });
  if (processes.maximum(is_readable ? 1 : 0) == 0) return std::nullopt;
  CheckpointProbe seen = probe({path, {}}, store, processes);
  if (!seen.layout && !seen.is_single_file && list_files(path, store, processes).empty()) return std::nullopt;
  const FoundCheckpoint found = find_probed(std::move(seen), store, processes);
  return found.checkpoint ? std::optional(found.checkpoint->layout()) : std::nullopt;
}

Checkpoint opened(FoundCheckpoint found, SourceStore& store, Communicator& processes) {
  const FoundFiles& files = found.files;
  agree(processes, [&] {
    if (found.damaged_manifest) throw *found.damaged_manifest;
    if (found.checkpoint) return;
    if (found.unplaced) throw *found.unplaced;
    if (!files.is_single_file) {
      const std::string unread = unread_array(files);
      Error error = missing_layout_error(files, store, ranks_without_layout(files, unread));
      throw unread.empty() ? error : error.of_kind(Kind::input);
    }
    if (const std::string& text = files.catalogs.front().schema->layout; !text.empty())
      check_single_file(files.path, parse_layout(text, "the layout that " + files.path.string() + " carries"));
    else
      check_is_whole(files.path, *files.catalogs.front().schema, store);
  });
  if (found.checkpoint) return std::move(*found.checkpoint);
  return Checkpoint::open_as(files.path, true, single_card(), known_files(files), store, processes);
}

}  // namespace ckpt
