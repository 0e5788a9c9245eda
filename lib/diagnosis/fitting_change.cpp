#include "diagnosis/fitting_change.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/stored_sample.hpp"
#include "diagnosis/layout_with_copies.hpp"
#include "layout/language/layout_changes.hpp"
#include "layout/names/card_names.hpp"
#include "layout/names/naming.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The samples' verdict on a layout of their checkpoint.
struct LayoutVerdict {
  bool is_refuted = false;
  bool is_proven = false;        ///< some card holds the same as another, as it should, and not a constant
  std::set<std::string> pieces;  ///< each card's part of the sampled data: equal for equivalent layouts
};

/// One name of each kind. Names are of one kind if they differ only in parts that are whole numbers: "layers.0.w1" and
/// "layers.1.w1", but not "layers.0.w2".
std::vector<std::string> one_of_each_kind(const std::vector<StoredArray>& arrays) {
  std::map<std::string, std::string> first;
  for (const StoredArray& array : arrays) {
    std::string kind;
    for (std::size_t begin = 0; begin < array.name.size();) {
      const std::size_t end = std::min(array.name.str().find_first_of("./", begin), array.name.size());
      const std::string part = array.name.str().substr(begin, end - begin);
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

bool may_differ(const Placement& placement, ArrayId array) {
  return placement.shardings()[placement.arrays()[array].members.front()].replicas == Replicas::first;
}

/// The elements, by parameter, that a card stores in an array.
std::string piece_of(const Placement& placement, ArrayId array, Position card) {
  std::string text;
  placement.for_each_region(array, card, {0, numel(placement.stored_shape(array, card))},
                            [&](ParameterId parameter, const Region& region) {
                              text += placement.tensors()[parameter].name + to_string(region.box.lo) +
                                      to_string(region.box.hi) + std::to_string(region.offset) + ' ';
                            });
  return text;
}

/// Samples of a checkpoint's files: in each file one dataset for each kind of name.
class LayoutSamples {
 public:
  /// Reads the samples. Collective; the same on every process. Throws what reading throws.
  LayoutSamples(const Checkpoint& checkpoint, SourceStore& store, Communicator& processes) {
    std::vector<Sample> mine;
    agree(processes, [&] { mine = own(checkpoint, store, processes); });
    for (const auto& theirs : gather_all(mine, processes))
      for (const Sample& sample : theirs) {
        const std::string& name = (*checkpoint.file(sample.file).schema->arrays)[sample.dataset].name;
        sampled_[name][checkpoint.file_name(sample.file)] = sample;
      }
    for (auto& [name, by_file] : sampled_) {
      const std::uint64_t digest = by_file.begin()->second.digest;
      if (std::all_of(by_file.begin(), by_file.end(), [&](const auto& e) { return e.second.digest == digest; }))
        for (auto& [file, sample] : by_file) sample.is_constant = true;  // such as a table that all layers have
    }
  }

  /// Judges whether cards that hold the same by this placement of the files' arrays do, and others something else.
  LayoutVerdict judge(const Placement& placement) const {
    LayoutVerdict verdict;
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
        stored[placement.arrays()[array].name].add(piece, {path, sample->second}, may_differ(placement, array),
                                                   verdict);
      }
    }
    return verdict;
  }

 private:
  /// A sample of one dataset in a file.
  struct Sample {
    FileNumber file = 0;
    std::uint64_t dataset = 0;
    std::uint64_t digest = 0;
    bool is_constant = false;
  };
  /// The samples under one stored name.
  struct Stored {
    struct PieceSample {
      std::string path;
      Sample sample;
    };
    std::map<std::string, PieceSample> of_piece;
    std::map<std::uint64_t, std::string> piece_of;  // by digest

    void add(const std::string& piece, const PieceSample& seen, bool may_differ, LayoutVerdict& verdict) {
      const auto [same, is_new] = of_piece.try_emplace(piece, seen);
      if (!is_new && same->second.path != seen.path && !may_differ) {
        if (same->second.sample.digest != seen.sample.digest) verdict.is_refuted = true;
        if (!seen.sample.is_constant) verdict.is_proven = true;
      }
      if (seen.sample.is_constant || piece.empty()) return;
      if (piece_of.try_emplace(seen.sample.digest, piece).first->second != piece) verdict.is_refuted = true;
    }
  };

  static std::vector<Sample> own(const Checkpoint& checkpoint, SourceStore& store, const Communicator& processes) {
    FileCache<SourceFile> files(files_in_cache(1), [&](FileNumber file) {
      return std::shared_ptr<SourceFile>(checkpoint.open_file(file, store));
    });
    std::map<const Schema*, std::vector<std::string>> names_of;
    std::vector<Sample> samples;
    for (const FileNumber number : checkpoint.own_files(static_cast<std::uint32_t>(processes.rank()),
                                                        static_cast<std::uint32_t>(processes.size()))) {
      check_interrupt();
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

  std::map<std::string, std::map<std::string, Sample>> sampled_;  // by name within its file, then by file
};

constexpr std::uint64_t most_work = 1ULL << 25;  // names on all cards, times changes that are tried
constexpr std::size_t most_told = 3;             // changes that fit

/// The checkpoint's files in another layout's arrangement.
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

/// The samples' verdict; nothing if the layout does not resolve, gives unexpected tensors, or is refuted.
std::optional<LayoutVerdict> tried(const ConflictSource& source, const Layout& layout, const LayoutSamples& samples) {
  try {
    const Resolved resolved = resolve(arranged(source.checkpoint, layout), source.keep, source.expected_shape);
    if (source.is_expected && !source.is_expected(resolved)) return std::nullopt;
    LayoutVerdict verdict = samples.judge(resolved.placement);
    if (verdict.is_refuted) return std::nullopt;
    return verdict;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The names of a checkpoint's parameters.
std::vector<std::string> parameter_names(const Checkpoint& checkpoint) {
  const Naming naming(checkpoint.layout());
  std::set<std::string> names;
  std::set<CardArrays> known;
  for (const CardArrays& arrays_on_card : checkpoint.card_arrays())
    if (known.insert(arrays_on_card).second)
      for (const StoredArray& array : *arrays_on_card) names.insert(naming.renamed(array.name));
  return {names.begin(), names.end()};
}

/// Makes the changes group by group, because each is a whole layout. `try_one` returns whether to continue.
void for_each_change(const ConflictSource& source, const std::function<bool(LayoutChange&)>& try_one) {
  const Layout& layout = source.checkpoint.layout();
  if (!first_card_name(layout).empty()) return;  // only each card's own part of a file is known
  const auto try_all = [&](std::vector<LayoutChange> changes) {
    return std::all_of(changes.begin(), changes.end(), try_one);
  };
  if (!try_all(other_meshes(layout)) || !try_all(other_counts(layout))) return;
  // By bytes alone, a number that is not counted looks like a missing split.
  if (!source.is_expected) return;
  if (!try_all(meshes_with_copies(layout)) || !try_all(more_counts(layout, parameter_names(source.checkpoint)))) return;
  for (std::size_t rule = 0; rule < layout.parameters.size(); ++rule)
    if (!try_all(other_splits(layout, rule))) return;
}

/// How many changes may be tried.
std::uint64_t most_tries(const Checkpoint& checkpoint) {
  std::uint64_t names = 0;
  for (const FileCatalog& file : checkpoint.files()) names += file.schema->arrays->size();
  return checkpoint.layout().mesh.size() == 1 || names == 0 ? 0 : most_work / names;
}

/// The text about changes that fit, each of which gives other tensors.
std::string told(const std::vector<std::string>& fitting, const std::string& origin) {
  if (fitting.empty() || fitting.size() > most_told) return "";
  std::string text = fitting.size() == 1 ? "" : "by names, shapes and samples each of these would fit: ";
  for (std::size_t i = 0; i < fitting.size(); ++i) text += (i == 0 ? "" : "; or ") + fitting[i];
  return text + (fitting.size() == 1 ? " would fit (" : " (") + origin + ")";
}

}  // namespace

std::string fitting_change(const ConflictSource& source, Communicator& processes) {
  const Checkpoint& checkpoint = source.checkpoint;
  std::uint64_t tries = most_tries(checkpoint);
  if (tries == 0) return "";
  std::optional<LayoutSamples> samples;
  processes.set_failed_together(false);
  try {
    samples.emplace(checkpoint, source.store, processes);
  } catch (const Error& error) {
    // If files cannot be read, the error that was found before says more.
    if ((error.kind() != Kind::input && error.kind() != Kind::io) || !processes.failed_together()) throw;
    processes.set_failed_together(false);
    return "";
  }
  std::vector<std::string> fitting;
  agree(processes, [&] {
    if (tried(source, checkpoint.layout(), *samples)) return;
    std::set<std::set<std::string>> meanings;
    for_each_change(source, [&](LayoutChange& change) {
      check_interrupt();
      auto verdict = tried(source, change.layout, *samples);
      if (verdict && (verdict->is_proven || source.is_expected) && meanings.insert(std::move(verdict->pieces)).second)
        fitting.push_back(std::move(change.what));
      return --tries != 0;
    });
  });
  return told(fitting, checkpoint.layout().origin);
}

void explain_conflict(const ConflictSource& source, Communicator& processes, const std::function<void()>& work) {
  std::optional<Error> refused;
  try {
    work();
    return;
  } catch (const Error& error) {
    if ((error.kind() != Kind::input && error.kind() != Kind::layout) || !processes.failed_together()) throw;
    refused = error;
  }
  const std::string change = fitting_change(source, processes);
  agree(processes, [&] {
    if (change.empty()) throw Error(*refused);
    const Error::Text& text = refused->text();
    throw Error(refused->kind(), refused->object(), {text.found, text.expected, change})
        .in_file(refused->file())
        .of_parameter(refused->parameter());
  });
}

}  // namespace ckpt
