#include "diagnosis/fitting_change.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "diagnosis/layout_samples.hpp"
#include "diagnosis/layout_with_copies.hpp"
#include "layout/language/layout_changes.hpp"
#include "layout/names/card_names.hpp"
#include "layout/names/naming.hpp"

namespace ckpt {

namespace {

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
std::optional<LayoutVerdict> tried(const MisfitSource& source, const Layout& layout, const LayoutSamples& samples) {
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
  std::set<Holding> known;
  for (const Holding& holding : checkpoint.holdings())
    if (known.insert(holding).second)
      for (const StoredArray& array : *holding) names.insert(naming.renamed(array.name));
  return {names.begin(), names.end()};
}

/// Makes the changes group by group, because each is a whole layout. `try_one` returns whether to continue.
void for_each_change(const MisfitSource& source, const std::function<bool(LayoutChange&)>& try_one) {
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

std::string fitting_change(const MisfitSource& source, Communicator& processes) {
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

void explain_misfit(const MisfitSource& source, Communicator& processes, const std::function<void()>& work) {
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
