#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/manifest.hpp"
#include "exchange/communicator.hpp"
#include "layout/layout.hpp"
#include "store/store.hpp"

namespace ckpt {

/// What `manifest` has written, read again.
struct Manifest {
  struct Parameter {
    std::string dtype;
    Extents shape;
    std::string fingerprint;
  };
  std::string origin;  ///< where it was found, for messages
  nlohmann::json layout_json;
  Layout layout;
  std::map<std::string, ManifestFile> files;  ///< by name; none in a merged file
  std::map<std::string, Parameter> parameters;
};

/// The manifest that a text is; `origin` is named in errors. Throws input where it is damaged or has no fingerprints,
/// layout where its layout is wrong. A directory's lists files, a merged file's does not.
Manifest parse_manifest(const std::string& text, const std::string& origin, bool is_directory);

/// The manifest that a checkpoint (a directory, or a merged file) carries, the first process's that finds one.
/// Collective; throws input where there is none, it is damaged, or it has no fingerprints.
Manifest read_manifest(const std::filesystem::path& checkpoint, Store& store, Communicator& processes);

}  // namespace ckpt
