#include "checkpoint/checkpoint.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/heap.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/averaged_files.hpp"
#include "checkpoint/card_views.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "checkpoint/directory_hints.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/files_on_hosts.hpp"
#include "checkpoint/found_files.hpp"
#include "checkpoint/kept_replicas.hpp"
#include "checkpoint/lost_files.hpp"
#include "checkpoint/misnamed_files.hpp"
#include "checkpoint/missing_layout.hpp"
#include "checkpoint/newest_files.hpp"
#include "checkpoint/read_catalogs.hpp"
#include "checkpoint/whole_tensors.hpp"
#include "layout/language/layout.hpp"
#include "layout/names/better_pattern.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/naming.hpp"
#include "layout/names/pattern.hpp"
#include "layout/placement/scale_cuts.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/stores.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

namespace {

/// The parameters' names in the form that rules use.
std::set<std::string> names_held(const Naming& naming, const std::vector<CardArrays>& card_arrays) {
  std::set<std::string> names;
  for (const CardArrays& arrays_on_card : card_arrays)
    for (const StoredArray& array : *arrays_on_card) names.insert(naming.renamed(array.name));
  return names;
}

/// Changes a layout so that, for parameters whose names match, only the lowest card's copy counts; all else stays as it
/// was. `card_arrays`: what each card holds, by position. Warns of patterns that match none.
Layout with_first_copies(Layout layout, const std::vector<CardArrays>& card_arrays, const std::vector<Pattern>& names) {
  const Naming naming(layout);
  std::vector<bool> has_matched(names.size(), false);
  std::vector<Rule> rules;
  std::set<std::size_t> parted;  // rules from which some names have moved to their own rule
  std::set<std::size_t> in_use;
  const std::set<std::string> held = names_held(naming, card_arrays);
  for (const std::string& name : held) {
    const auto decision = naming.decide(name);
    if (!decision) continue;
    bool is_meant = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].matches(name)) is_meant = has_matched[i] = true;
    (is_meant ? parted : in_use).insert(decision->rules.begin(), decision->rules.end());
    if (!is_meant) continue;
    Rule rule;
    rule.names.emplace_back(literal(name));
    rule.keys = decision->keys;
    rule.keys.replicas = Replicas::first;
    rules.push_back(std::move(rule));
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!has_matched[i])
      log::warn("no parameter has a name that matches '{}': no copies of any may differ for it; {}", names[i].text(),
                better_pattern(names[i], {held.begin(), held.end()}));
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    Rule& rule = layout.parameters[i];
    if (parted.contains(i) && !in_use.contains(i)) continue;
    if (parted.contains(i))  // a pattern whose name has its own rule now would match nothing
      std::erase_if(rule.names, [&](const Pattern& pattern) {
        return pattern.is_plain() && std::any_of(rules.begin(), rules.end(), [&](const Rule& own) {
                 return own.names.front().text() == pattern.text();
               });
      });
    rules.push_back(std::move(rule));
  }
  layout.parameters = std::move(rules);
  return layout;
}

/// Describes a symbolic link that leads nowhere; returns nothing for any other path.
std::optional<std::string> dangling(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path goal = std::filesystem::read_symlink(path, error);
  if (error) return std::nullopt;
  return "a symbolic link to " + goal.string() + ", which is not there";
}

/// Whether a file of this name is of a format in which one stands for all that lies in its directory.
bool stands_for_directory(const std::string& name) {
  const Format* const by_ending = format_by_ending(formats(), name);
  return std::ranges::any_of(formats(), [&](const Format& format) {
    const bool has_beginning = !format.beginning.empty() && name.starts_with(format.beginning);
    return format.is_directory && (&format == by_ending || has_beginning);
  });
}

}  // namespace

void check_single_file(const std::filesystem::path& path, const Layout& layout) {
  const std::uint64_t files = layout.files.count(layout.mesh);
  if (layout.mesh.size() == 1 && files == 1) return;
  throw Error(Kind::usage, path.string(),
              {"it is a single file",
               (layout.mesh.size() != 1 ? "the files of " + std::to_string(layout.mesh.size()) + " cards"
                                        : "the " + std::to_string(files) + " files of its card") +
                   ", as " + layout.origin + " says",
               "give the directory that holds their files"});
}

Checkpoint Checkpoint::open(const CheckpointPlace& place, SourceStore& store, Communicator& processes) {
  return opened(find_checkpoint(place, store, processes), store, processes);
}

Checkpoint Checkpoint::open_as(const std::filesystem::path& path, bool is_single_file, Layout layout, KnownFiles known,
                               SourceStore& store, Communicator& processes) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  checkpoint.is_single_file_ = is_single_file;
  checkpoint.layout_ = is_single_file ? std::move(layout) : with_newest_files(std::move(layout), path, processes);
  checkpoint.table_ = FileTable(checkpoint.layout_);
  agree(processes, [&] {
    if (is_single_file) check_single_file(path, checkpoint.layout_);
  });
  checkpoint.find_paths(known);
  checkpoint.find_files(known, store, processes);
  checkpoint.read_metadata(known, store, processes);
  return checkpoint;
}

Checkpoint Checkpoint::of(const std::filesystem::path& path, bool is_single_file, Layout layout,
                          std::vector<std::optional<FileCatalog>> catalogs) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  checkpoint.is_single_file_ = is_single_file;
  checkpoint.layout_ = std::move(layout);
  checkpoint.table_ = FileTable(checkpoint.layout_);
  checkpoint.keep(std::move(catalogs));
  return checkpoint;
}

void Checkpoint::take_first_copies(const std::vector<Pattern>& names) {
  if (names.empty()) return;
  const std::vector<CardArrays> arrays = card_arrays();  // before the layout moves: arguments have no order
  layout_ = with_first_copies(std::move(layout_), arrays, names);
}

std::vector<Position> Checkpoint::own_cards(std::uint32_t process, std::uint32_t processes) const {
  const Owners owner_of = is_shared() ? Owners{} : owners(processes);
  std::vector<Position> cards;
  std::uint64_t with_files = 0;  // so far: they are dealt out
  for (Position card = 0; card < layout_.mesh.size(); ++card) {
    if (table_.owned_by(card).empty()) continue;
    if ((is_shared() ? with_files % processes : owner_of[card]) == process) cards.push_back(card);
    ++with_files;
  }
  return cards;
}

std::vector<FileNumber> Checkpoint::own_files(std::uint32_t process, std::uint32_t processes) const {
  std::vector<FileNumber> files;
  for (const Position card : own_cards(process, processes))
    for (const FileNumber file : table_.owned_by(card))
      if (is_there(file)) files.push_back(file);
  return files;
}

std::vector<FileNumber> Checkpoint::missing() const {
  std::vector<FileNumber> missing;
  for (FileNumber file = 0; file < table_.count(); ++file)
    if (!is_there(file)) missing.push_back(file);
  return missing;
}

const std::map<std::string, std::string>& Checkpoint::tree_names() const {
  static const std::map<std::string, std::string> none;
  for (const FileCatalog& file : files_)
    if (!file.schema->tree_names.empty()) return file.schema->tree_names;
  return none;
}

std::filesystem::path Checkpoint::file_path(FileNumber file) const {
  if (is_single_file_) return path_;
  if (!paths_.empty()) return path_ / paths_[file];
  return path_ / layout_.files.path(layout_.mesh, table_.owner(file), table_.entry(file));
}

void Checkpoint::dequantise(const Dequantisation& how) {
  auto files = std::make_shared<const DequantisedFiles>(*this, how);
  if (elsewhere_ && *elsewhere_ == layout_)
    elsewhere_ = files->layout();
  else if (elsewhere_ && elsewhere_->mesh == layout_.mesh)
    elsewhere_->parameters.insert(elsewhere_->parameters.begin(), files->rules().begin(), files->rules().end());
  layout_ = files->layout();
  files_ = files->catalogs();
  dequantised_ = std::move(files);
}

void Checkpoint::average(Averaging how, SourceStore& store) {
  auto files = std::make_shared<const AveragedFiles>(*this, std::move(how), store);
  files_ = files->catalogs();
  averaged_ = std::move(files);
}

std::unique_ptr<SourceFile> Checkpoint::open_file(FileNumber file, SourceStore& store) const {
  if (averaged_) return averaged_->open(file, store);
  if (dequantised_) return dequantised_->open(file, store);
  return shared_.empty() ? store.open(file_path(file), files_[file]) : open_part(file_path(file), shared_[file], store);
}

bool Checkpoint::is_for_directory() const {
  return !is_single_file_ && table_.count() != 0 && stands_for_directory(file_path(0).filename().string());
}

std::string Checkpoint::file_name(FileNumber file) const {
  return is_single_file_ ? path_.filename().string()
                         : layout_.files.path(layout_.mesh, table_.owner(file), table_.entry(file));
}

std::vector<std::filesystem::path> Checkpoint::paths_read(FileNumber file) const {
  std::vector<std::filesystem::path> paths = viewed_paths(file_path(file), *files_[file].schema);
  paths.insert(paths.begin(), file_path(file));
  return paths;
}

std::vector<std::filesystem::path> Checkpoint::paths_read_by(std::uint32_t process, std::uint32_t processes) const {
  std::vector<std::filesystem::path> files;
  for (const FileNumber file : own_files(process, processes))
    for (std::filesystem::path& read : paths_read(file)) files.push_back(std::move(read));
  if (const auto manifest = path() / manifest_name; std::filesystem::exists(manifest)) files.push_back(manifest);
  return files;
}

FileNumber Checkpoint::file_of(Position card, const std::string& stored) const {
  return table_.of(card, layout_.files.entry_of(stored).value_or(0));
}

const Dataset* Checkpoint::find(Position card, const std::string& stored) const {
  const Schema& schema = *files_[file_of(card, stored)].schema;
  const std::size_t found = schema.find(layout_.files.name_within(stored));
  return found < schema.datasets.size() ? &schema.datasets[found] : nullptr;
}

std::string Checkpoint::place(Position card, const std::string& stored) const {
  return file_name(file_of(card, stored)) + ": /" + layout_.files.name_in_file(layout_.mesh, card, stored);
}

void Checkpoint::find_paths(const KnownFiles& known) {
  std::vector<std::string> paths;
  bool are_names = true;
  for (FileNumber file = 0; file < table_.count(); ++file) {
    const auto found = known.find(file_name(file));
    paths.push_back(found == known.end() ? file_name(file) : found->second.path);
    are_names = are_names && paths.back() == file_name(file);
  }
  if (!are_names) paths_ = std::move(paths);
}

void Checkpoint::find_files(const KnownFiles& known, SourceStore& store, Communicator& processes) {
  std::vector<SeenFile> seen(table_.count());
  NamedFiles names{[this](FileNumber file) { return file_name(file); }, {}};
  for (Position card = 0; card < layout_.mesh.size(); ++card) names.of_card.push_back(table_.owned_by(card));
  // A host that lacks some of the files which one stands for cannot read it.
  const bool is_whole = !is_for_directory() || sees_all_files(file_path(0).parent_path(), processes);
  agree(processes, [&] {
    for (FileNumber file = 0; is_whole && file < seen.size(); ++file) {
      check_interrupt();
      if (const auto found = store.look_at(file_path(file))) seen[file] = {found->bytes, found->modified_ns};
    }
  });
  MergedView together = merge_views(seen, names, processes);
  if (!together.warning.empty()) log::warn(together.warning);
  std::vector<std::filesystem::path> paths;
  std::vector<bool> is_seen;
  for (FileNumber file = 0; file < seen.size(); ++file) {
    paths.push_back(file_path(file));
    is_seen.push_back(seen[file].is_seen() && seen[file] == together.files[file]);
  }
  check_alike_on_hosts(paths, is_seen, processes);
  owners_of_unshared_ = std::move(together.owners);
  for (const SeenFile& file : together.files) is_there_.push_back(file.is_seen());
  agree(processes, [&] {
    for (const auto& [file, sights] : together.differing) {
      const auto it = known.find(file_name(file));  // its metadata may be of the older version
      if (it == known.end() || !it->second.catalog) continue;
      const FileCatalog& read = *it->second.catalog;
      if (SeenFile{read.bytes, read.modified_ns} != together.files[file])
        throw differing_versions(file_name(file), sights);
    }
    if (processes.rank() == 0) warn_of_others(known, store);
    check_missing(processes.size() == 1);
  });
}

/// Some of a card's files may be missing, but not all, and each entry of `files` must have at least one.
void Checkpoint::check_missing(bool is_alone) const {
  const auto is_any_there = [&](const std::vector<FileNumber>& files) {
    return std::any_of(files.begin(), files.end(), [&](FileNumber file) { return is_there(file); });
  };
  std::vector<std::vector<FileNumber>> needed(layout_.files.entries().size());
  for (FileNumber file = 0; file < table_.count(); ++file) needed[table_.entry(file)].push_back(file);
  for (Position card = 0; card < layout_.mesh.size(); ++card)
    if (auto owned = table_.owned_by(card); !owned.empty()) needed.push_back(std::move(owned));
  std::set<FileNumber> lost;
  for (const auto& files : needed)
    if (!is_any_there(files)) lost.insert(files.front());
  if (lost.empty()) return;
  if (std::none_of(is_there_.begin(), is_there_.end(), [](bool is_there) { return is_there; }))
    if (auto others = misnamed_files(path_, layout_, file_name(0))) throw std::move(*others);
  std::set<std::string> names;
  for (FileNumber file = 0; file < table_.count(); ++file) names.insert(file_name(file));
  const std::size_t count = names.size();
  const bool is_one_each = layout_.files.is_one_each(layout_.mesh);
  throw Error(Kind::input, file_name(*lost.begin()),
              {dangling(file_path(*lost.begin()))
                   .value_or("no such file in " + path_.string() + (is_alone ? "" : " on any process's node")),
               std::to_string(count) +
                   (count == 1    ? " file"
                    : is_one_each ? " files, one for each card"
                                  : " files") +
                   ", as " + layout_.origin + " says",
               "is the checkpoint complete, and the layout's mesh the one that it was saved with?"});
}

/// Warns of tensor files that the layout does not name: its mesh may be too small although the files that it names fit,
/// or another checkpoint lies beside them or in a folder. A layout with `cards` deliberately takes only some.
void Checkpoint::warn_of_others(const KnownFiles& known, SourceStore& store) const {
  if (is_single_file_ || !layout_.mesh.cards.empty()) return;
  if (is_for_directory()) return;
  std::set<std::string> named;
  for (const auto& [name, file] : known)
    if (!file.catalog) named.insert(file.path);  // lost, which its index says, or another's
  std::set<std::string> endings;                 // beyond the known formats'
  for (FileNumber file = 0; file < table_.count(); ++file) {
    named.insert(paths_.empty() ? file_name(file) : paths_[file]);
    endings.insert(file_path(file).extension().string());
  }
  if (endings.contains(torch::dcp_ending)) named.insert(torch::torch_dist_tree);
  std::vector<std::string> others;
  std::vector<std::string> of_trainer;  // beside any checkpoint: random states, arguments
  for (const PassedOver& other : files_passed_over(path_, named, endings, store)) {
    // Objects that a script registered may hold what counts: an average of the weights.
    const bool is_state = other.what.empty() && is_state_of_trainer(other.name) &&
                          !other.name.starts_with("optimizer") && !other.name.starts_with("custom_checkpoint");
    (is_state ? of_trainer : others).push_back(other.what.empty() ? other.name : other.name + " (" + other.what + ")");
  }
  if (!of_trainer.empty()) log::info("{}: a trainer's own, left out: {}", path_.string(), join(of_trainer));
  if (others.empty()) return;
  const auto without_digits = [](std::string name) {
    std::erase_if(name, is_digit);
    return name;
  };
  const bool has_more_cards = !describes_itself_ && table_.count() != 0 &&
                              std::ranges::find(others, without_digits(file_name(0)), without_digits) != others.end();
  log::warn(
      "{} does not name these files, which are left out: {}{}", layout_.origin, join(others),
      has_more_cards ? "; is the \"shape\" of its mesh too small, and are these the files of further cards?" : "");
}

void Checkpoint::read_metadata(const KnownFiles& known, SourceStore& store, Communicator& processes) {
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto reader_of = [&](FileNumber file) {
    return owners_of_unshared_.empty() ? file % size : owners_of_unshared_[table_.owner(file)];
  };
  std::vector<std::optional<FileCatalog>> catalogs(table_.count());
  std::vector<FileToRead> to_read;
  std::vector<std::pair<FileNumber, std::size_t>> numbers;  // and which file to read: one path may have several
  std::map<std::string, std::size_t> by_name;
  for (FileNumber file = 0; file < table_.count(); ++file) {
    if (!is_there(file)) continue;
    if (const auto found = known.find(file_name(file)); found != known.end()) {
      catalogs[file] = found->second.catalog;
    } else {
      const auto [read, is_new] = by_name.emplace(file_name(file), to_read.size());
      if (is_new) to_read.push_back({file_path(file), reader_of(file)});
      numbers.emplace_back(file, read->second);
    }
  }
  auto read = read_catalogs(to_read, store, processes);
  for (const auto& [file, i] : numbers) catalogs[file] = read[i];
  return_freed_memory();
  agree(processes, [&] { keep(std::move(catalogs)); });
  const auto may_lack = [](const Rule& rule) { return rule.keys.replicas == Replicas::first; };
  // A target for other cards gets the copies that this checkpoint lacks.
  if (!layout_.is_plan && std::any_of(layout_.parameters.begin(), layout_.parameters.end(), may_lack))
    elsewhere_ = layout_;
  agree(processes, [&] {
    const std::vector<CardArrays> arrays = card_arrays();  // before the layout moves: arguments have no order
    layout_ = with_kept_replicas(std::move(layout_), files_, arrays);
  });
  if (layout_.is_plan) check_plan(store, processes);
}

/// Process 0 decides for all processes, from the files that it sees.
void Checkpoint::check_plan(SourceStore& store, Communicator& processes) {
  bool are_whole = false;
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    are_whole = hold_whole_tensors(
        layout_, card_arrays(), [&](Position card, const std::string& stored) -> std::optional<StoredSample> {
          if (!is_shared() && owners_of_unshared_[card] != 0) return std::nullopt;
          const FileNumber number = file_of(card, stored);
          const FileCatalog& catalog = files_[number];
          const auto file = open_file(number, store);
          return stored_sample(*file, *catalog.schema, catalog.schema->find(layout_.files.name_within(stored)));
        });
  });
  if (processes.maximum(are_whole ? 1 : 0) == 0) return;
  log::warn(
      "{}: its files hold whole tensors in spite of {}, as MindSpore saves them with integrated_save: they are taken "
      "as "
      "they are. If they are pieces that happen to be alike, give the same as a JSON layout",
      path_.string(), layout_.origin);
  layout_ = without_cuts(std::move(layout_));
}

void Checkpoint::keep(std::vector<std::optional<FileCatalog>> catalogs) {
  Schema schema;
  schema.arrays = std::make_shared<const std::vector<StoredArray>>();
  const FileCatalog nothing{std::make_shared<const Schema>(std::move(schema)), 0, 0};
  is_there_.clear();
  for (std::optional<FileCatalog>& catalog : catalogs) {
    is_there_.push_back(catalog.has_value());
    files_.push_back(catalog ? std::move(*catalog) : nothing);
  }
  shared_ = take_own_names(files_, table_, layout_);
}

std::vector<CardArrays> Checkpoint::card_arrays() const {
  using Key = std::vector<std::pair<std::size_t, const Schema*>>;  // entries, and the schemas of their files
  std::map<Key, CardArrays> known;
  std::vector<CardArrays> card_arrays;
  card_arrays.reserve(layout_.mesh.size());
  for (Position card = 0; card < layout_.mesh.size(); ++card) {
    const std::vector<FileNumber> owned = table_.owned_by(card);
    Key key;
    for (const FileNumber file : owned) key.emplace_back(table_.entry(file), files_[file].schema.get());
    CardArrays& arrays_on_card = known[key];
    if (!arrays_on_card) arrays_on_card = arrays_of_card(owned);
    card_arrays.push_back(arrays_on_card);
  }
  return card_arrays;
}

CardArrays Checkpoint::arrays_of_card(const std::vector<FileNumber>& files) const {
  const auto& entries = layout_.files.entries();
  if (files.size() == 1 && entries.size() == 1 && entries.front().prefix.empty())
    return files_[files.front()].schema->arrays;
  std::vector<StoredArray> arrays;
  for (const FileNumber file : files)
    with_context(file_name(file), [&] {
      for (StoredArray array : *files_[file].schema->arrays) {
        array.name = layout_.files.stored_name(table_.entry(file), array.name);
        arrays.push_back(std::move(array));
      }
    });
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
}

Owners Checkpoint::owners(std::uint32_t processes) const {
  if (!is_shared()) return owners_of_unshared_;
  return in_blocks(card_bytes(), processes);
}

std::vector<std::uint64_t> Checkpoint::card_bytes() const {
  std::vector<std::uint64_t> bytes(layout_.mesh.size(), 0);
  for (FileNumber file = 0; file < files_.size(); ++file) bytes[table_.owner(file)] += files_[file].bytes;
  return bytes;
}

void Checkpoint::check_unchanged(SourceStore& store, FileNumber file) const {
  const std::vector<std::filesystem::path> paths = paths_read(file);
  std::vector<FileCatalog::Version> versions = files_[file].viewed;
  versions.insert(versions.begin(), {files_[file].bytes, files_[file].modified_ns});
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& [bytes, modified_ns] = versions.at(i);
    if (i > 0 && bytes == 0 && modified_ns == 0) continue;  // data that it shows but cannot read is not checked
    const auto found = store.look_at(paths[i]);
    if (found && found->bytes == bytes && found->modified_ns == modified_ns) continue;
    const std::string name = i == 0 ? file_name(file) : paths[i].string();
    throw Error(Kind::input, name, {"it was changed while it was read", "", "", {Advice::What::wait_for_writer, ""}})
        .in_file(name);
  }
}

namespace {

/// Names a file in an error as the layout does; a single file keeps its own name, whatever that is.
Error by_own_name(const Checkpoint& checkpoint, const Error& error) {
  const std::string said = checkpoint.layout().files.path(checkpoint.layout().mesh, 0);
  const std::string own = checkpoint.file_name(0);
  if (said == own || !error.object().starts_with(said + ":")) return error;
  Error named(error.kind(), own + error.object().substr(said.size()), error.text());
  return named.of_parameter(error.parameter()).in_file(error.file()).advise("", error.next_advice());
}

}  // namespace

Resolved resolve(const Checkpoint& checkpoint, const Keep& keep, const ExpectedShape& expected) {
  for (const auto& [name, error] : checkpoint.contradictions())
    if (!keep || keep(name)) throw Error(error).of_parameter(name);
  check_none_is_lost(checkpoint);
  std::vector<std::string> missing;
  for (const FileNumber file : checkpoint.missing())
    if (missing.empty() || missing.back() != checkpoint.file_name(file)) missing.push_back(checkpoint.file_name(file));
  const std::string files = (missing.size() == 1 ? "this file" : "these files") +
                            std::string(" that the layout names ") + (missing.size() == 1 ? "is" : "are") +
                            " not there: " + join(missing);
  try {
    const DequantisedFiles* const numbers = checkpoint.dequantised();
    Resolved resolved = resolve_source(checkpoint.layout(), checkpoint.card_arrays(), keep, expected,
                                       numbers != nullptr ? numbers->hidden() : std::set<std::string>());
    if (numbers != nullptr) check_whole_units(resolved.placement, numbers->units());
    if (!missing.empty()) resolved.warnings.push_back(files + "; by what is in the others they would hold nothing");
    return resolved;
  } catch (Error& error) {
    if (!missing.empty()) error.advise(files);
    throw by_own_name(checkpoint, error);
  }
}

}  // namespace ckpt
