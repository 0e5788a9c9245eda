#include "jobs/output_manifest.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/read_manifest.hpp"
#include "layout/names/model_files.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// The facts about an output; the files are on process 0 only.
struct Told {
  std::vector<Fingerprint> fingerprints;
  std::vector<ManifestFile> files;
  std::vector<ManifestTable> tables;
  std::vector<IndexedFile> indexed;
};

Told gather(const ManifestParts& parts, const TargetFiles& files, Communicator& processes) {
  const ContentSums* const sums = parts.sums;
  Told told;
  if (sums != nullptr) told.fingerprints = sums->of_parameters(processes);
  told.files = gather_list(files.list(sums), processes);
  if (processes.rank() == 0)
    for (ManifestFile& file : parts.text.manifest_files()) told.files.push_back(std::move(file));
  told.tables = manifest_tables(parts.sides.tables, parts.table_sums, sums != nullptr);
  for (ManifestTable& table : parts.text.manifest_tables()) told.tables.push_back(std::move(table));
  std::sort(told.tables.begin(), told.tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (parts.sides.store->index() != nullptr) told.indexed = gather_at_first(files.indexed(), processes);
  return told;
}

/// Warns of parameters that keep their names and dtypes but no longer have the fingerprints in the source's own
/// manifest: the source was damaged since, or changed on purpose.
void warn_of_changed(const ManifestParts& parts, const std::vector<Fingerprint>& written) {
  const auto told = told_fingerprints(parts.sides.checkpoint);
  const Placement& source = parts.sides.source.placement;
  const std::vector<Tensor>& target = parts.sides.target.placement.tensors();
  std::vector<std::string> changed;
  for (std::size_t p = 0; p < written.size() && !told.empty(); ++p) {
    const auto was = told.find(target[p].name);
    const auto taken = parts.sides.selection.find(target[p].name);
    if (was == told.end() || !taken) continue;
    const Tensor& tensor = source.tensors()[parts.sides.selection.source_of[*taken]];
    const bool goes_on =
        tensor.name == target[p].name && tensor.dtype == target[p].dtype && tensor.shape == target[p].shape;
    if (goes_on && !source.layout().table_arrays.contains(tensor.name) && to_string(written[p]) != was->second)
      changed.push_back(tensor.name);
  }
  if (changed.empty()) return;
  const std::string path = parts.sides.checkpoint.path().string();
  log::warn(
      "{}: {} {} not as its manifest says: damaged since it was written, or changed on purpose? ckpt-verify {} "
      "names the files",
      path, join(changed), changed.size() == 1 ? "is" : "are", path);
}

std::string text_of(const ManifestParts& parts, const Told& told, const std::optional<ManifestRoom>& room,
                    const std::vector<ManifestFile>& beside = {}) {
  const auto where = parts.job.is_view ? FingerprintPlace::views : FingerprintPlace::manifest;
  return manifest(parts.sides.target.placement, told.files, told.fingerprints, room, where, told.tables, beside);
}

/// All files beside the data but the manifest; an index comes last: without it, a directory is not a checkpoint.
std::vector<FileBeside> texts_beside(const ManifestParts& parts, const Told& told) {
  const Placement& target = parts.sides.target.placement;
  const Store& store = *parts.sides.store;
  std::vector<FileBeside> texts = parts.beside;
  if (auto file = file_beside(target.layout())) texts.push_back(std::move(*file));
  if (parts.sides.index_name.empty()) return texts;
  const DirectoryIndex* const index = store.index();
  texts.push_back({parts.sides.index_name, index != nullptr ? index->text(told.indexed) : model_index(target)});
  return texts;
}

/// The manifest's facts about a file.
ManifestFile facts_of(const FileBeside& file, bool is_verified) {
  const PartialSum sum = sum_of(std::as_bytes(std::span(file.bytes)), 0);
  return {file.name, 0, file.bytes.size(), is_verified ? to_string(fingerprint(sum, file.name)) : ""};
}

void write_beside(const ManifestParts& parts, const Told& told, const Output& output) {
  const std::vector<FileBeside> texts = texts_beside(parts, told);
  std::vector<ManifestFile> facts;
  for (const FileBeside& file : texts) facts.push_back(facts_of(file, parts.job.is_verified()));
  output.write_text(manifest_name, text_of(parts, told, std::nullopt, facts));
  for (const FileBeside& file : texts) output.write_text(file.name, file.bytes);
}

}  // namespace

std::string write_manifest(const ManifestParts& parts, TargetFiles& files, JobOutput& output, Communicator& processes) {
  const Told told = gather(parts, files, processes);
  std::string sent;
  agree(processes, [&] {
    const Output* place = output.place();
    if (place != nullptr) place->check_held();
    if (processes.rank() != 0) return;
    warn_of_changed(parts, told.fingerprints);
    if (!parts.job.output.is_single_file) return write_beside(parts, told, *place);
    std::string text = text_of(parts, told, files.manifest_room());
    if (place != nullptr || parts.sides.store->traits().ends_with_manifest) files.set_manifest(text);
    if (place == nullptr) sent = std::move(text);
  });
  return sent;
}

}  // namespace ckpt
