#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "layout/language/layout.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The text of the manifest in a checkpoint's directory, unparsed; nothing where there is none. Throws input, without
/// reading it, if its name belongs to something that is not a file.
std::optional<std::string> directory_manifest(const std::filesystem::path& directory);

/// A checkpoint's manifest as it was found.
struct ManifestText {
  std::string text;
  std::string origin;  ///< for messages
  std::string file;    ///< that holds it: checkpoint.json, or the merged file
  bool is_directory = true;
};

/// The manifest that a checkpoint (a directory, or with `is_file` a merged file) carries, from the first process that
/// finds one; nothing where none does. Collective; throws input if it cannot be read.
std::optional<ManifestText> find_manifest(const std::filesystem::path& checkpoint, bool is_file, SourceStore& store,
                                          Communicator& processes);

/// The whole manifest of a merged file that went into a pipe, from the job's report; it replaces the one found in the
/// file. Process 0 reads the report for all. Collective; throws input if the report has no manifest.
ManifestText reported_manifest(const std::filesystem::path& report, ManifestText found, Communicator& processes);

/// A parsed manifest.
struct Manifest {
  std::string origin;  ///< where it was found, for messages
  nlohmann::json layout_json;
  Layout layout;
  std::map<std::string, ManifestFile> files;      ///< by name; for a merged file, the only one
  std::map<std::string, ManifestFile> sidecars;   ///< the small files beside them, by name; empty: it lists none
  std::map<std::string, std::string> parameters;  ///< fingerprints, by name
  std::optional<std::uint64_t> place;             ///< in a merged file: where in it the manifest begins
  /// The manifest's text in place of fingerprints; empty: it has them, or the job made none.
  std::string without_fingerprints;
};

/// Throws input if the text is not a manifest, or has no fingerprints; layout if its layout is wrong. Use is_sealed to
/// check that it is as it was written.
Manifest parse_manifest(const ManifestText& found);

}  // namespace ckpt
