#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "layout/layout.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The text of the manifest in a checkpoint's directory, not looked into; nothing where there is none. Throws input,
/// at once, where something else stands in its place.
std::optional<std::string> directory_manifest(const std::filesystem::path& directory);

/// The layout in the manifest of a checkpoint's directory; nothing where there is none. Throws input where the manifest
/// is not as it was written.
std::optional<std::string> carried_layout(const std::filesystem::path& directory);

/// The fingerprints of a checkpoint's parameters by name, as its manifest tells them. Of none without a manifest, or
/// with one that is not as it was written.
std::map<std::string, std::string> told_fingerprints(const Checkpoint& checkpoint);

/// What a checkpoint's manifest tells of its tables besides rows and sums: by which conditions rows were taken, and
/// from which checkpoints they come. Of none without a manifest, or with one that cannot be read.
std::map<std::string, ManifestTable> told_of_tables(const Checkpoint& checkpoint);
std::map<std::string, ManifestTable> told_of_tables(const std::filesystem::path& directory);
/// All conditions that a table's rows have gone through.
std::vector<KeptRows> all_kept(const ManifestTable& table);

/// A checkpoint's manifest as it was found.
struct ManifestText {
  std::string text;
  std::string origin;  ///< for messages
  std::string file;    ///< that holds it: checkpoint.json, or the merged file
  bool is_directory = true;
};

/// The manifest that a checkpoint (a directory, or with `is_file` a merged file) carries, the first process's that
/// finds one; nothing where there is none. Collective; throws input for what cannot be read.
std::optional<ManifestText> find_manifest(const std::filesystem::path& checkpoint, bool is_file, SourceStore& store,
                                          Communicator& processes);

/// The whole manifest of a merged file that went into a pipe, as the job's report has it, in the place of the one that
/// was found in the file. Process 0 reads the report for all. Collective; throws input for one that has none.
ManifestText reported_manifest(const std::filesystem::path& report, ManifestText found, Communicator& processes);

/// What `manifest` has written, read again.
struct Manifest {
  std::string origin;  ///< where it was found, for messages
  nlohmann::json layout_json;
  Layout layout;
  std::map<std::string, ManifestFile> files;      ///< by name; a merged file is its only one
  std::map<std::string, ManifestFile> beside;     ///< the small files beside them, by name; none: it tells of none
  std::map<std::string, std::string> parameters;  ///< their fingerprints, by name
  std::optional<std::uint64_t> place;             ///< in a merged file: where in it the manifest begins
  /// What it says in the place of fingerprints; empty: it has them, or the job made none.
  std::string without_fingerprints;
};

/// Throws input where the text is no manifest, or one without fingerprints; layout where its layout is wrong. Whether
/// it is as it was written, is_sealed tells.
Manifest parse_manifest(const ManifestText& found);

}  // namespace ckpt
