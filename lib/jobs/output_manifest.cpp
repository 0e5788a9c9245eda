#include "jobs/output_manifest.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "layout/names/file_table.hpp"
#include "layout/names/model_files.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The facts about an output; the files are on process 0 only.
struct OutputFacts {
  std::vector<Fingerprint> fingerprints;
  std::vector<ManifestFile> files;
  std::vector<ManifestTable> tables;
  std::vector<IndexedFile> indexed;
};

/// Puts files into the order of their cards, whichever processes made them.
template <class File>
void put_in_order(std::vector<File>& files, const Placement& target) {
  if (files.size() < 2) return;
  const FileTable table = ArrayFiles(target).table();
  std::map<std::string, std::size_t> places;
  for (Position card = 0; card < target.mesh().size(); ++card)
    for (const FileNumber file : table.owned_by(card))
      places.emplace(target.layout().files.path(target.mesh(), card, table.entry(file)), places.size());
  std::stable_sort(files.begin(), files.end(),
                   [&](const File& a, const File& b) { return places.at(a.name) < places.at(b.name); });
}

OutputFacts gather(const ManifestParts& parts, const TargetFiles& files, Communicator& processes) {
  const ContentSums* const sums = parts.sums;
  OutputFacts output_facts;
  if (sums != nullptr) output_facts.fingerprints = sums->of_parameters(processes);
  output_facts.files = gather_list(files.list(sums), processes);
  output_facts.tables = manifest_tables(parts.sides.tables, parts.table_sums, sums != nullptr);
  for (ManifestTable& table : parts.text.manifest_tables()) output_facts.tables.push_back(std::move(table));
  std::sort(output_facts.tables.begin(), output_facts.tables.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  if (parts.sides.store->index() != nullptr) output_facts.indexed = gather_at_first(files.indexed(), processes);
  return output_facts;
}

/// Warns of parameters that keep their names and dtypes but no longer have the fingerprints in the source's own
/// manifest: the source was damaged since, or changed on purpose.
void warn_of_changed(const ManifestParts& parts, const std::map<std::string, std::string>& told,
                     const std::vector<Fingerprint>& written) {
  const DequantisedFiles* const numbers = parts.sides.checkpoint.dequantised();  // of codes with other fingerprints
  const Placement& source = parts.sides.source.placement;
  const std::vector<Tensor>& target = parts.sides.target.placement.tensors();
  std::vector<std::string> changed;
  for (std::size_t p = 0; p < written.size() && !told.empty(); ++p) {
    const auto was = told.find(target[p].name);
    const auto taken = parts.sides.selection.find(target[p].name);
    if (was == told.end() || !taken || parts.sides.selection.links_of(*taken) != nullptr) continue;
    const Tensor& tensor = source.tensors()[parts.sides.selection.source_of[*taken]];
    const bool goes_on = tensor.name == target[p].name && tensor.dtype == target[p].dtype &&
                         tensor.shape == target[p].shape &&
                         (numbers == nullptr || !numbers->units().contains(tensor.name));
    if (goes_on && !source.layout().table_arrays.contains(tensor.name) && to_string(written[p]) != was->second)
      changed.push_back(tensor.name);
  }
  if (!changed.empty()) log::warn("{}", changed_warning(parts.sides.checkpoint.path().string(), changed));
}

std::string text_of(const ManifestParts& parts, const OutputFacts& output_facts,
                    const std::optional<ManifestRoom>& room, const std::vector<ManifestFile>& sidecars = {}) {
  const auto where = parts.job.is_view ? FingerprintPlace::views : FingerprintPlace::manifest;
  return manifest(parts.sides.target.placement, output_facts.files, output_facts.fingerprints, room, where,
                  output_facts.tables, sidecars, parts.sides.history);
}

/// All files beside the data but the manifest; an index comes last: without it, a directory is not a checkpoint.
std::vector<Sidecar> sidecars_of(const ManifestParts& parts, const OutputFacts& output_facts) {
  const Placement& target = parts.sides.target.placement;
  const Store& store = *parts.sides.store;
  std::vector<Sidecar> texts = parts.sidecars;
  if (auto file = latest_sidecar(target.layout())) texts.push_back(std::move(*file));
  if (parts.sides.index_name.empty()) return texts;
  const DirectoryIndex* const index = store.index();
  if (index == nullptr) {
    texts.push_back({parts.sides.index_name, model_index(target)});
    return texts;
  }
  for (auto& [name, bytes] : index->texts(output_facts.indexed)) texts.push_back({std::move(name), std::move(bytes)});
  return texts;
}

/// The manifest's facts about a file.
ManifestFile facts_of(const Sidecar& file, bool is_verified) {
  const PartialSum sum = sum_of(std::as_bytes(std::span(file.bytes)), 0);
  return {file.name, 0, file.bytes.size(), is_verified ? to_string(fingerprint(sum, file.name)) : ""};
}

void write_sidecars(const ManifestParts& parts, const OutputFacts& output_facts, const Output& output) {
  const std::vector<Sidecar> texts = sidecars_of(parts, output_facts);
  std::vector<ManifestFile> facts;
  for (const Sidecar& file : texts) facts.push_back(facts_of(file, parts.job.is_verified()));
  output.write_text(manifest_name, text_of(parts, output_facts, std::nullopt, facts));
  for (const Sidecar& file : texts) output.write_text(file.name, file.bytes);
}

}  // namespace

std::string write_manifest(const ManifestParts& parts, TargetFiles& files, JobOutput& output, Communicator& processes) {
  OutputFacts output_facts = gather(parts, files, processes);
  const Checkpoint& source = parts.sides.checkpoint;
  const CarriedManifest* const told = source.averaged() == nullptr ? &carried_manifest(source, processes) : nullptr;
  std::string sent;
  agree(processes, [&] {
    const Output* place = output.place();
    if (place != nullptr) place->check_held();
    if (processes.rank() != 0) return;
    put_in_order(output_facts.files, parts.sides.target.placement);
    put_in_order(output_facts.indexed, parts.sides.target.placement);
    for (ManifestFile& file : parts.text.manifest_files()) output_facts.files.push_back(std::move(file));
    if (told != nullptr) warn_of_changed(parts, told->fingerprints, output_facts.fingerprints);
    if (!parts.job.output.is_single_file) return write_sidecars(parts, output_facts, *place);
    std::string text = text_of(parts, output_facts, files.manifest_room());
    if (place != nullptr || parts.sides.store->traits().ends_with_manifest) files.set_manifest(text);
    if (place == nullptr) sent = std::move(text);
  });
  return sent;
}

}  // namespace ckpt
