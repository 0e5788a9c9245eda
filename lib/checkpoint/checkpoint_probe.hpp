#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// The kind of a path and how its data is sharded, as far as this is known without the files' metadata.
struct CheckpointProbe {
  std::filesystem::path path;  ///< a directory, or with `is_single_file` the file; an index's directory
  bool is_single_file = false;
  std::optional<Layout> layout;                ///< the given one, the manifest's, or the directory's own
  std::optional<Layout> elsewhere;             ///< where the directory has one: Checkpoint::layout_elsewhere
  bool is_completed = false;                   ///< `layout` is the given one, completed by the directory's
  std::vector<Sidecar> sidecars;               ///< Checkpoint::sidecars
  std::map<std::string, std::string> masters;  ///< Checkpoint::masters
  std::vector<std::pair<std::string, Error>> contradictions;  ///< Checkpoint::contradictions
  unsigned threads = 0;                                       ///< CheckpointPlace::threads
  KnownFiles known;                                           ///< what the directory's metadata says about its files
  SharedManifest manifest;                ///< what a directory's says, if it was read; for the same directory alone
  std::optional<Error> damaged_manifest;  ///< why this process's manifest does not count
  std::optional<Error> no_index;          ///< why a file with an index's name is not an index
};

/// Whether a path is a single file; else it is a directory. Collective; throws input where no process sees either.
bool is_single_file(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

/// Lets files show data from beside the checkpoint's directory: the checkpoint and what it was made from share a tree.
void let_show_neighbours(const std::filesystem::path& path, bool is_single_file, SourceStore& store);

/// Looks at a path. Collective; throws input, the same on every process, if no process sees anything there, or if a
/// directory's own metadata contradicts itself.
CheckpointProbe probe(const CheckpointPlace& place, SourceStore& store, Communicator& processes);

}  // namespace ckpt
