#include "jobs/check.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/log.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/read_manifest.hpp"
#include "compare/content_search.hpp"
#include "io/file_sum.hpp"
#include "jobs/indexed_store.hpp"
#include "jobs/types/memory_shares.hpp"
#include "jobs/types/resources.hpp"
#include "layout/names/model_files.hpp"
#include "layout/placement/resolve.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "output/sidecars.hpp"
#include "processes/gather_all.hpp"
#include "tables/keyed/census.hpp"

namespace ckpt {

namespace {

std::string fingerprint_of_file(const std::filesystem::path& path, const std::string& name, Counters& counters) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  const PartialSum sum = sum_of_file(file, bytes);
  counters.bytes_read += bytes;
  return to_string(fingerprint(sum, name));
}

/// The files that this process is to read: one of the processes that see a file reads it.
std::vector<const ManifestFile*> own_of(const std::filesystem::path& checkpoint, const std::vector<ManifestFile>& files,
                                        Communicator& processes) {
  std::string is_seen;
  for (const ManifestFile& file : files) {
    std::error_code error;
    is_seen += std::filesystem::exists(checkpoint / file.name, error) ? '1' : '0';
  }
  const std::vector<std::string> is_seen_by = gather_all(is_seen, processes);
  const auto rank = static_cast<std::size_t>(processes.rank());
  std::vector<const ManifestFile*> own;
  for (std::size_t n = 0; n < files.size(); ++n) {
    std::vector<std::size_t> readers;
    for (std::size_t each = 0; each < is_seen_by.size(); ++each)
      if (is_seen_by[each][n] == '1') readers.push_back(each);
    if (!readers.empty() && readers[n % readers.size()] == rank) own.push_back(&files[n]);
  }
  return own;
}

/// Which of these files differ, byte for byte, from the checkpoint's manifest. The files must exist and have the right
/// sizes. Collective; the result is the same on every process.
std::vector<Damage> changed_files(const std::filesystem::path& checkpoint, const std::vector<ManifestFile>& files,
                                  unsigned threads, Communicator& processes, Counters& counters) {
  const std::vector<const ManifestFile*> own = own_of(checkpoint, files, processes);
  std::vector<char> is_changed(own.size());  // not bool: threads write to it
  agree(processes, [&] {
    for_each_in_parallel(threads, own.size(), [&](std::uint64_t n) {
      is_changed[n] =
          fingerprint_of_file(checkpoint / own[n]->name, own[n]->name, counters) != own[n]->fingerprint ? 1 : 0;
    });
  });
  std::vector<std::string> changed;
  for (std::size_t n = 0; n < own.size(); ++n)
    if (is_changed[n] != 0) changed.push_back(own[n]->name);
  std::vector<std::string> all;
  for (auto& of_process : gather_all(changed, processes)) all.insert(all.end(), of_process.begin(), of_process.end());
  std::sort(all.begin(), all.end());
  std::vector<Damage> damages;
  for (std::string& name : all)
    damages.push_back({Damage::What::content, std::move(name), "it has other bytes than were written", {}});
  return damages;
}

using What = Damage::What;

/// Compares the files that all processes see with the manifest, before any file is opened.
class FileSearch {
 public:
  FileSearch(const std::filesystem::path& checkpoint, const Manifest& manifest, SourceStore& store,
             Communicator& processes)
      : checkpoint_(checkpoint), manifest_(manifest), told_(manifest.files), store_(store), processes_(processes) {
    told_.insert(manifest.sidecars.begin(), manifest.sidecars.end());
  }

  std::vector<Damage> damages() {
    std::vector<std::pair<std::string, std::uint64_t>> here;
    agree(processes_, [&] { here = seen(); });
    std::vector<Damage> damages;
    std::set<std::string> found;
    for (const auto& [name, bytes] : of_all(here, processes_)) {
      const auto expected = told_.find(name);
      if (expected == told_.end())
        damages.push_back({What::surplus, name, "the manifest does not name it", {}});
      else if (bytes != expected->second.bytes)
        damages.push_back({What::size, name, sizes(bytes, expected->second.bytes), {}});
      found.insert(name);
    }
    for (const auto& [name, file] : told_)
      if (!found.contains(name)) damages.push_back({What::missing, name, "", {}});
    return damages;
  }

 private:
  static std::string sizes(std::uint64_t found, std::uint64_t expected) {
    return std::to_string(found) + " bytes, expected " + std::to_string(expected);
  }

  /// The manifest's files that this process sees, and others of their kind, with their sizes.
  std::vector<std::pair<std::string, std::uint64_t>> seen() const {
    std::error_code error;
    if (std::filesystem::is_regular_file(checkpoint_, error))
      return {{checkpoint_.filename().string(), std::filesystem::file_size(checkpoint_)}};
    std::vector<std::pair<std::string, std::uint64_t>> seen;
    std::set<std::string> kinds;
    for (const auto& [name, file] : manifest_.files) kinds.insert(std::filesystem::path(name).extension());
    for (const auto& [name, file] : told_)
      if (const auto found = store_.look_at(checkpoint_ / name); found && !found->is_directory)
        seen.emplace_back(name, found->bytes);
    std::filesystem::recursive_directory_iterator entry(checkpoint_, error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
      const std::string name = entry->path().lexically_relative(checkpoint_).string();
      if (!told_.contains(name) && kinds.contains(entry->path().extension()) && entry->is_regular_file())
        seen.emplace_back(name, entry->file_size());
    }
    if (error && error != std::errc::no_such_file_or_directory)
      throw system_error(checkpoint_.string(), "list", error.value());
    return seen;
  }

  const std::filesystem::path& checkpoint_;
  const Manifest& manifest_;
  std::map<std::string, ManifestFile> told_;  // data files, and those beside them
  SourceStore& store_;
  Communicator& processes_;
};

/// Warns of existing files that the manifest does not list: older manifests list only data files.
void warn_of_unlisted(const std::filesystem::path& checkpoint, const Manifest& manifest, Stores& stores) {
  if (!manifest.sidecars.empty() || std::filesystem::is_regular_file(checkpoint)) return;
  std::set<std::string> names;  // the formats of one ending may have one index
  for (std::string& name : sidecar_names(manifest.layout)) names.insert(std::move(name));
  const std::string ending = std::filesystem::path(manifest.files.begin()->first).extension();
  names.insert(model_index_name(ending));
  for (const Format& format : stores.formats())
    if (format.ending == ending && !format.index_name.empty()) names.emplace(format.index_name);
  std::error_code error;
  std::erase_if(names, [&](const std::string& name) { return !std::filesystem::exists(checkpoint / name, error); });
  if (!names.empty())
    log::warn("{} tells nothing of {}: not looked at; write the checkpoint anew to have a manifest that does",
              manifest.origin, join({names.begin(), names.end()}));
}

/// The small files beside the data files that exist with the right sizes.
std::vector<ManifestFile> whole_sidecars(const Manifest& manifest, const std::vector<Damage>& damages) {
  std::vector<ManifestFile> files;
  for (const auto& [name, file] : manifest.sidecars)
    if (std::none_of(damages.begin(), damages.end(), [&](const Damage& damage) { return damage.file == name; }))
      files.push_back(file);
  return files;
}

/// Compares the parameters that the files hold with those of the manifest.
std::vector<Damage> compare_names(const Placement& placement, const Manifest& manifest) {
  Damage surplus{What::parameter, "", "the manifest does not name them", {}};
  Damage missing{What::parameter, "", "no file holds them", {}};
  for (const Tensor& tensor : placement.tensors())
    if (!manifest.parameters.contains(tensor.name)) surplus.parameters.push_back(tensor.name);
  for (const auto& [name, fingerprint] : manifest.parameters)
    if (!placement.find(name)) missing.parameters.push_back(name);
  std::vector<Damage> damages{std::move(surplus), std::move(missing)};
  std::erase_if(damages, [](const Damage& damage) { return damage.parameters.empty(); });
  return damages;
}

/// Files of another run carry another layout; those of a directory with an index carry none.
std::vector<Damage> compare_layouts(const Checkpoint& checkpoint, const Manifest& manifest, bool has_index) {
  std::map<const Schema*, bool> is_same;
  std::vector<Damage> damages;
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file) {
    const Schema* schema = checkpoint.file(file).schema.get();
    const auto [known, is_new] = is_same.try_emplace(schema);
    const bool carries_none = schema->layout.empty() && has_index;
    if (is_new)
      known->second = carries_none || nlohmann::json::parse(schema->layout, nullptr, false) == manifest.layout_json;
    if (!known->second) damages.push_back({What::layout, checkpoint.file_name(file), "", {}});
  }
  return damages;
}

/// The opened files, with the layout applied.
struct OpenCheckpoint {
  Checkpoint checkpoint;
  Resolved resolved;
};

/// Throws input for an array that cannot be read: these programs never write one.
void check_readable(const Checkpoint& checkpoint) {
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file)
    for (const StoredArray& array : *checkpoint.file(file).schema->arrays)
      if (array.refusal) throw Error(*array.refusal).within("/" + array.name).within(checkpoint.file_name(file));
}

OpenCheckpoint open(const CheckJob& job, const Manifest& manifest, const ExpectedTensors& expected, SourceStore& store,
                    Communicator& processes) {
  Layout layout = job.checkpoint.layout.value_or(manifest.layout);
  std::erase_if(layout.tables, [](const KeyedTable& table) { return bool(table.text); });
  OpenCheckpoint opened{Checkpoint::open({job.checkpoint.path, std::move(layout)}, store, processes), {}};
  const auto expected_shape = [&](const std::string& name) { return expected.shape(name); };
  agree(processes, [&] {
    check_readable(opened.checkpoint);
    opened.resolved = resolve(opened.checkpoint, {}, expected_shape);
  });
  return opened;
}

/// Whether `work` can read its input; adds a damage if not. Once damages are known, a layout that does not fit follows
/// from them.
bool reads(Communicator& processes, std::vector<Damage>& damages, const std::function<void()>& work,
           What otherwise = What::unreadable) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    const bool is_damage = error.kind() == Kind::input || (error.kind() == Kind::layout && !damages.empty());
    if (!is_damage || !processes.failed_together()) throw;
    processes.set_failed_together(false);
    damages.push_back({otherwise, "", "", {}, error});
    return false;
  }
}

/// Throws input if neither a file's content nor its name is a checkpoint's: then it is not a damaged one.
void check_is_checkpoint(const std::filesystem::path& file, Stores& stores) {
  const bool is_here = stores.reading().look_at(file).has_value();
  if (!is_here || format_by_ending(stores.formats(), file.filename().string()) != nullptr ||
      stores.reading().recognises(file))
    return;
  throw Error(
      Kind::input, file.string(),
      {"no checkpoint", "a file of one of these formats: " + names_of_files(stores.formats()), "check the path"});
}

/// The checkpoint's manifest; returns nothing, and adds a damage, if it is not as it was written.
std::optional<Manifest> whole_manifest(const CheckJob& job, Stores& stores, Communicator& processes,
                                       std::vector<Damage>& damages) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(job.checkpoint.path, error);
  const bool is_there = processes.maximum(std::filesystem::exists(status) ? 1 : 0) != 0;
  agree(processes, [&] {
    if (!is_there)
      throw Error(Kind::input, job.checkpoint.path.string(),
                  {"no such file or directory", "a checkpoint", "check the path"});
  });
  const bool is_file = processes.maximum(std::filesystem::is_regular_file(status) ? 1 : 0) != 0;
  if (is_file) agree(processes, [&] { check_is_checkpoint(job.checkpoint.path, stores); });
  std::optional<ManifestText> found;
  const auto find = [&] { found = find_manifest(job.checkpoint.path, is_file, stores.reading(), processes); };
  // A merged file that cannot be opened is damaged. Something unreadable named checkpoint.json never was a manifest.
  if (!is_file)
    find();
  else if (!reads(processes, damages, find))
    return std::nullopt;
  const bool is_whole = found && is_sealed(found->text);
  if (is_whole && !job.report.empty()) found = reported_manifest(job.report, std::move(*found), processes);
  std::optional<Manifest> manifest;
  agree(processes, [&] {
    if (!found)
      throw Error(Kind::input, job.checkpoint.path.string(),
                  {std::string("it has no manifest (") + manifest_name + ", in a merged file attribute ckpt_manifest)",
                   "a checkpoint that these programs wrote",
                   "",
                   {Advice::What::compare_two, ""}});
    if (is_whole) manifest = parse_manifest(*found);
  });
  if (!manifest) damages.push_back({What::manifest, found->file, "", {}});
  return manifest;
}

/// Files that are as they were written may still hold wrong keys: shards that moved whole were not looked into.
void check_tables(const OpenCheckpoint& opened, const Resources& resources, SourceStore& store,
                  Communicator& processes) {
  std::vector<StoredTable> tables;
  agree(processes, [&] { tables = stored_tables(opened.resolved.placement); });
  const CensusContext context = census_context(resources, processes);
  TableReader reader(opened.checkpoint, store, open_files_allowed(resources, processes));
  for (StoredTable& table : tables) {
    reader.read_offsets(table, processes);
    check_keys(table, reader, context, processes);
  }
}

/// One check: its arguments, and its findings so far.
class IntegrityCheck {
 public:
  IntegrityCheck(const CheckJob& job, Stores& stores, Communicator& processes, Counters& counters)
      : job_(job),
        stores_(stores),
        processes_(processes),
        counters_(counters),
        most_open_(open_files_allowed(job.resources, processes)),
        expected_(job.expectation, stores.reading(), processes) {}

  Integrity run() {
    if (const auto manifest = whole_manifest(job_, stores_, processes_, result_.damages)) check(*manifest);
    return std::move(result_);
  }

 private:
  void check(const Manifest& manifest);
  void check_whole_files(const Manifest& manifest);
  void check_changed(const std::vector<ManifestFile>& files);
  void check_data(const Manifest& manifest);
  void check_contents(const OpenCheckpoint& opened, const Manifest& manifest);

  void add(const std::vector<Damage>& damages) {
    result_.damages.insert(result_.damages.end(), damages.begin(), damages.end());
  }

  const CheckJob& job_;
  Stores& stores_;
  Communicator& processes_;
  Counters& counters_;
  std::size_t most_open_;
  ExpectedTensors expected_;
  Integrity result_;
};

/// Damage to data files ends the search: their content cannot be reached.
void IntegrityCheck::check(const Manifest& manifest) {
  result_.files = manifest.files.size();
  result_.parameters = manifest.parameters.size();
  add(FileSearch(job_.checkpoint.path, manifest, stores_.reading(), processes_).damages());
  const auto hides_data = [&](const Damage& damage) {
    return damage.what != What::surplus && !manifest.sidecars.contains(damage.file);
  };
  if (std::any_of(result_.damages.begin(), result_.damages.end(), hides_data)) return;
  check_whole_files(manifest);
  if (!is_text_alone(manifest.layout)) check_data(manifest);
  counters_.phase = Phase::done;
}

/// Checks files with one fingerprint and no parameters: those beside the data, and Paddle's text.
void IntegrityCheck::check_whole_files(const Manifest& manifest) {
  check_changed(whole_sidecars(manifest, result_.damages));
  if (processes_.rank() == 0) warn_of_unlisted(job_.checkpoint.path, manifest, stores_);
  std::vector<ManifestFile> texts;
  if (has_paddle_text(manifest.layout))
    for (const std::string& name : text_file_names(manifest.layout)) texts.push_back(manifest.files.at(name));
  check_changed(texts);
}

void IntegrityCheck::check_changed(const std::vector<ManifestFile>& files) {
  if (files.empty()) return;
  for (const ManifestFile& file : files) result_.bytes += file.bytes;
  counters_.phase = Phase::compare;
  add(changed_files(job_.checkpoint.path, files, thread_count(job_.resources, processes_), processes_, counters_));
  counters_.phase = Phase::catalog;
}

void IntegrityCheck::check_data(const Manifest& manifest) {
  SourceStore& store = stores_.reading();
  std::optional<OpenCheckpoint> opened;
  const auto open_all = [&] { opened = open(job_, manifest, expected_, store, processes_); };
  if (!reads(processes_, result_.damages, open_all)) return;
  agree(processes_, [&] { result_.deviations = expected_.of(opened->resolved.placement); });
  expected_.warn_of_idle({&result_.deviations});
  const bool has_index = indexed_store(opened->checkpoint, stores_, processes_) != nullptr;
  add(compare_layouts(opened->checkpoint, manifest, has_index));
  const auto misnamed = compare_names(opened->resolved.placement, manifest);
  add(misnamed);
  if (!misnamed.empty()) return;
  check_contents(*opened, manifest);
  const auto look_at_keys = [&] { check_tables(*opened, job_.resources, store, processes_); };
  if (result_.damages.empty()) reads(processes_, result_.damages, look_at_keys, What::keys);
  warn_of_repeats(job_.resources.memory_bytes, decoding_of(store), processes_);
}

void IntegrityCheck::check_contents(const OpenCheckpoint& opened, const Manifest& manifest) {
  const Placement& placement = opened.resolved.placement;
  for (const FileCatalog& file : opened.checkpoint.files()) result_.bytes += file.bytes;
  counters_.phase = Phase::compare;
  counters_.bytes_total = result_.bytes / static_cast<std::uint64_t>(processes_.size());
  MemoryShares shares;
  agree(processes_,
        [&] { shares = share_memory(job_.resources.memory_bytes, 2, largest_chunk(opened.checkpoint, placement)); });
  set_decoding_memory(stores_.reading(), shares.chunks);
  const std::uint64_t memory_bytes = shares.windows + shares.rest;  // nothing is mapped
  const SearchedFiles files{opened.checkpoint,
                            placement,
                            manifest,
                            stores_,
                            most_open_,
                            memory_bytes,
                            thread_count(job_.resources, processes_)};
  std::vector<Damage> damages;
  const auto search = [&] { damages = search_contents(files, processes_, counters_); };
  if (reads(processes_, result_.damages, search)) add(damages);  // a format's own checksum may come first
}

}  // namespace

Integrity check_integrity(const CheckJob& job, Stores& stores, Communicator& processes, Counters& counters) {
  return IntegrityCheck(job, stores, processes, counters).run();
}

}  // namespace ckpt
