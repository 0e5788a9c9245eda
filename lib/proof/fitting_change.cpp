#include "proof/fitting_change.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/stored_sample.hpp"
#include "layout/layout_changes.hpp"
#include "layout/naming.hpp"
#include "processes/gather_all.hpp"
#include "proof/layout_with_copies.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_work = 1ULL << 25;  // names on all cards, for each change that is tried
constexpr std::size_t most_told = 3;             // changes that fit

/// What a file stores in one dataset, as far as it was looked at.
struct Sample {
  FileNumber file = 0;
  std::uint64_t dataset = 0;
  std::uint64_t digest = 0;
  bool is_constant = false;

  static auto fields(auto& self) { return std::tie(self.file, self.dataset, self.digest, self.is_constant); }
};

/// One name of each kind. Two are of one kind that differ in parts that are whole numbers: "layers.0.w1" and
/// "layers.1.w1", but not "layers.0.w2".
std::vector<std::string> one_of_each_kind(const std::vector<StoredArray>& arrays) {
  std::map<std::string, std::string> first;
  for (const StoredArray& array : arrays) {
    std::string kind;
    for (std::size_t begin = 0; begin < array.name.size();) {
      const std::size_t end = std::min(array.name.find_first_of("./", begin), array.name.size());
      const std::string part = array.name.substr(begin, end - begin);
      kind += part.find_first_not_of("0123456789") == std::string::npos ? "*" : part;
      kind += '.';
      begin = end + 1;
    }
    first.try_emplace(std::move(kind), array.name);
  }
  std::vector<std::string> names;
  for (auto& [kind, name] : first) names.push_back(std::move(name));
  return names;
}

/// In each file one dataset of each kind of name.
std::vector<Sample> own_samples(const MisfitSource& source, const Communicator& processes) {
  const Checkpoint& checkpoint = source.checkpoint;
  FileCache<SourceFile> files(files_in_cache(1), [&](FileNumber file) {
    return std::shared_ptr<SourceFile>(source.store.open(checkpoint.file_path(file), checkpoint.file(file)));
  });
  std::map<const Schema*, std::vector<std::string>> names_of;
  std::vector<Sample> samples;
  for (const FileNumber number : checkpoint.own_files(static_cast<std::uint32_t>(processes.rank()),
                                                      static_cast<std::uint32_t>(processes.size()))) {
    const Schema& schema = *checkpoint.file(number).schema;
    const auto [known, is_new] = names_of.try_emplace(&schema);
    if (is_new) known->second = one_of_each_kind(*schema.arrays);
    for (const std::string& name : known->second) {
      const std::size_t dataset = schema.find(name);
      const StoredSample found = stored_sample(*files.get(number), schema, dataset);
      if (!found.is_empty) samples.push_back({number, dataset, found.digest, !found.value.empty()});
    }
  }
  return samples;
}

/// What samples say of a layout of their checkpoint.
struct Verdict {
  bool is_refuted = false;
  bool is_proven = false;        ///< some card holds what another one is to hold as well, and that is no constant
  std::set<std::string> pieces;  ///< what each card holds of the sampled: equal for layouts that mean the same
};

class Samples {
 public:
  Samples(const Checkpoint& checkpoint, const std::vector<std::vector<Sample>>& all) {
    for (const auto& theirs : all)
      for (const Sample& sample : theirs) {
        const std::string& name = (*checkpoint.file(sample.file).schema->arrays)[sample.dataset].name;
        sampled_[name][checkpoint.file_name(sample.file)] = sample;
      }
    for (auto& [name, by_file] : sampled_) {
      const std::uint64_t digest = by_file.begin()->second.digest;
      if (std::all_of(by_file.begin(), by_file.end(), [&](const auto& e) { return e.second.digest == digest; }))
        for (auto& [file, sample] : by_file) sample.is_constant = true;  // as a table that all layers have
    }
  }

  Verdict judge(const Placement& placement) const {
    Verdict verdict;
    std::map<std::string, Stored> stored;
    const ArrayFiles where(placement);
    const Layout& layout = placement.layout();
    for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
      const auto sampled = sampled_.find(where.name(array));
      if (sampled == sampled_.end()) continue;
      for (Position card = 0; card < placement.mesh().size(); ++card) {
        if (!placement.holds(card, array)) continue;
        const std::string path = layout.files.path(layout.mesh, card, where.entry(array));
        const auto sample = sampled->second.find(path);
        if (sample == sampled->second.end()) continue;
        const std::string piece = piece_of(placement, array, card);
        verdict.pieces.insert(path + '\n' + placement.arrays()[array].name + '\n' + piece);
        add(stored[placement.arrays()[array].name], piece, {path, sample->second}, may_differ(placement, array),
            verdict);
      }
    }
    return verdict;
  }

 private:
  /// What was seen under one stored name.
  struct Stored {
    struct Seen {
      std::string path;
      Sample sample;
    };
    std::map<std::string, Seen> of_piece;
    std::map<std::uint64_t, std::string> piece_of;  // by digest
  };

  static bool may_differ(const Placement& placement, ArrayId array) {
    return placement.spreads()[placement.arrays()[array].members.front()].replicas == Replicas::first;
  }

  /// Which elements of which parameters a card stores in an array.
  static std::string piece_of(const Placement& placement, ArrayId array, Position card) {
    std::string text;
    placement.for_each_region(array, card, {0, volume(placement.stored_shape(array, card))},
                              [&](ParameterId parameter, const Region& region) {
                                text += placement.tensors()[parameter].name + to_string(region.box.lo) +
                                        to_string(region.box.hi) + std::to_string(region.offset) + ' ';
                              });
    return text;
  }

  static void add(Stored& stored, const std::string& piece, const Stored::Seen& seen, bool may_differ,
                  Verdict& verdict) {
    const auto [same, is_new] = stored.of_piece.try_emplace(piece, seen);
    if (!is_new && same->second.path != seen.path && !may_differ) {
      if (same->second.sample.digest != seen.sample.digest) verdict.is_refuted = true;
      if (!seen.sample.is_constant) verdict.is_proven = true;
    }
    if (seen.sample.is_constant || piece.empty()) return;
    if (stored.piece_of.try_emplace(seen.sample.digest, piece).first->second != piece) verdict.is_refuted = true;
  }

  std::map<std::string, std::map<std::string, Sample>> sampled_;  // by name within its file, then by file
};

/// The checkpoint's files as another layout arranges them.
Checkpoint arranged(const Checkpoint& checkpoint, const Layout& layout) {
  std::map<std::string, FileNumber> number_of;
  for (FileNumber file = 0; file < checkpoint.files().size(); ++file)
    if (checkpoint.is_there(file)) number_of.emplace(checkpoint.file_name(file), file);
  std::vector<std::optional<FileCatalog>> catalogs;
  for (const std::string& path : layout.files.paths(layout.mesh)) {
    const auto found = number_of.find(path);
    catalogs.push_back(found == number_of.end() ? std::nullopt : std::optional(checkpoint.file(found->second)));
  }
  return Checkpoint::of(checkpoint.path(), false, layout, std::move(catalogs));
}

/// What the samples say, or nothing where the layout does not resolve or gives what is not expected.
std::optional<Verdict> tried(const MisfitSource& source, const Layout& layout, const Samples& samples) {
  try {
    const Resolved resolved = resolve(arranged(source.checkpoint, layout), source.keep, source.expected_shape);
    if (source.is_expected && !source.is_expected(resolved)) return std::nullopt;
    Verdict verdict = samples.judge(resolved.placement);
    if (verdict.is_refuted) return std::nullopt;
    return verdict;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<LayoutChange> changes_of(const MisfitSource& source) {
  const Layout& layout = source.checkpoint.layout();
  std::vector<LayoutChange> changes = other_meshes(layout);
  const auto add = [&](std::vector<LayoutChange> more) {
    changes.insert(changes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(other_counts(layout));
  if (!source.is_expected) return changes;
  // By bytes alone a number that is not counted looks like a split that is not said.
  const Naming naming(layout);
  std::set<std::string> names;
  std::set<Holding> known;
  for (const Holding& holding : source.checkpoint.holdings())
    if (known.insert(holding).second)
      for (const StoredArray& array : *holding) names.insert(naming.renamed(array.name));
  add(meshes_with_copies(layout));
  add(more_counts(layout, {names.begin(), names.end()}));
  add(other_splits(layout));
  return changes;
}

/// How many changes may be tried.
std::uint64_t most_tries(const Checkpoint& checkpoint) {
  std::uint64_t names = 0;
  for (const FileCatalog& file : checkpoint.files()) names += file.schema->arrays->size();
  return checkpoint.layout().mesh.size() == 1 || names == 0 ? 0 : most_work / names;
}

/// What to say of changes that fit, each of which gives other tensors.
std::string told(const std::vector<std::string>& fitting, const std::string& origin) {
  if (fitting.empty() || fitting.size() > most_told) return "";
  std::string text = fitting.size() == 1 ? "" : "by names, shapes and samples each of these would fit: ";
  for (std::size_t i = 0; i < fitting.size(); ++i) text += (i == 0 ? "" : "; or ") + fitting[i];
  return text + (fitting.size() == 1 ? " would fit (" : " (") + origin + ")";
}

}  // namespace

std::string fitting_change(const MisfitSource& source, Communicator& processes) {
  const Checkpoint& checkpoint = source.checkpoint;
  const std::uint64_t tries = most_tries(checkpoint);
  if (tries == 0) return "";
  std::vector<Sample> mine;
  agree(processes, [&] { mine = own_samples(source, processes); });
  const Samples samples(checkpoint, gather_all(mine, processes));
  if (tried(source, checkpoint.layout(), samples)) return "";
  std::set<std::set<std::string>> meanings;
  std::vector<std::string> fitting;
  std::vector<LayoutChange> changes = changes_of(source);
  for (std::size_t c = 0; c < changes.size() && c < tries; ++c) {
    auto verdict = tried(source, changes[c].layout, samples);
    if (!verdict || !(verdict->is_proven || source.is_expected)) continue;
    if (meanings.insert(std::move(verdict->pieces)).second) fitting.push_back(std::move(changes[c].what));
  }
  return told(fitting, checkpoint.layout().origin);
}

void explain_misfit(const MisfitSource& source, Communicator& processes, const std::function<void()>& work) {
  std::optional<Error> refused;
  try {
    work();
    return;
  } catch (const Error& error) {
    if ((error.kind() != Kind::input && error.kind() != Kind::layout) || !processes.failed_together()) throw;
    refused = error;
  }
  std::string change;
  processes.set_failed_together(false);
  try {
    change = fitting_change(source, processes);
  } catch (const Error&) {
    if (!processes.failed_together()) throw;  // else the files cannot be read: what was refused says more
    processes.set_failed_together(false);
  }
  agree(processes, [&] {
    if (change.empty()) throw Error(*refused);
    const Error::Text& text = refused->text();
    throw Error(refused->kind(), refused->object(), {text.found, text.expected, change})
        .in_file(refused->file())
        .of_parameter(refused->parameter());
  });
}

}  // namespace ckpt
