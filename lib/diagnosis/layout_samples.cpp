#include "diagnosis/layout_samples.hpp"

#include <algorithm>

#include "base/interrupt.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/stored_sample.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

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
  return placement.spreads()[placement.arrays()[array].members.front()].replicas == Replicas::first;
}

/// The elements, by parameter, that a card stores in an array.
std::string piece_of(const Placement& placement, ArrayId array, Position card) {
  std::string text;
  placement.for_each_region(array, card, {0, volume(placement.stored_shape(array, card))},
                            [&](ParameterId parameter, const Region& region) {
                              text += placement.tensors()[parameter].name + to_string(region.box.lo) +
                                      to_string(region.box.hi) + std::to_string(region.offset) + ' ';
                            });
  return text;
}

}  // namespace

/// The samples under one stored name.
struct LayoutSamples::Stored {
  struct Seen {
    std::string path;
    Sample sample;
  };
  std::map<std::string, Seen> of_piece;
  std::map<std::uint64_t, std::string> piece_of;  // by digest

  void add(const std::string& piece, const Seen& seen, bool may_differ, LayoutVerdict& verdict) {
    const auto [same, is_new] = of_piece.try_emplace(piece, seen);
    if (!is_new && same->second.path != seen.path && !may_differ) {
      if (same->second.sample.digest != seen.sample.digest) verdict.is_refuted = true;
      if (!seen.sample.is_constant) verdict.is_proven = true;
    }
    if (seen.sample.is_constant || piece.empty()) return;
    if (piece_of.try_emplace(seen.sample.digest, piece).first->second != piece) verdict.is_refuted = true;
  }
};

LayoutSamples::LayoutSamples(const Checkpoint& checkpoint, SourceStore& store, Communicator& processes) {
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

std::vector<LayoutSamples::Sample> LayoutSamples::own(const Checkpoint& checkpoint, SourceStore& store,
                                                      const Communicator& processes) {
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

LayoutVerdict LayoutSamples::judge(const Placement& placement) const {
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
      stored[placement.arrays()[array].name].add(piece, {path, sample->second}, may_differ(placement, array), verdict);
    }
  }
  return verdict;
}

}  // namespace ckpt
