#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// The kind of a path and how it is cut, as far as this is known without its files' metadata.
struct Look {
  std::filesystem::path path;  ///< a directory, or with `is_single_file` the file; of an index, its directory
  bool is_single_file = false;
  std::optional<Layout> layout;                ///< the given one, the manifest's, or what the directory says of itself
  std::optional<Layout> elsewhere;             ///< where the directory says it: Checkpoint::layout_elsewhere
  bool is_completed = false;                   ///< `layout` is the given one with what the directory says of itself
  std::vector<FileBeside> beside;              ///< Checkpoint::beside
  std::map<std::string, std::string> masters;  ///< Checkpoint::masters
  std::vector<std::pair<std::string, Error>> contradictions;  ///< Checkpoint::contradictions
  unsigned threads = 0;                                       ///< CheckpointPlace::threads
  KnownFiles known;                                           ///< the directory's own metadata of its files
  std::optional<Error> damaged_manifest;                      ///< why this process's does not count
  std::optional<Error> no_index;                              ///< why a file with an index's name is none
};

/// Whether a path is a single file; else it is a directory. Collective; throws input where no process sees either.
bool is_single_file(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

/// Files of a checkpoint may show data of what lies beside its directory: it is one tree with what it was made from.
void let_show_neighbours(const std::filesystem::path& path, bool is_single_file, SourceStore& store);

/// The layout in the manifest of a directory, as any process sees it; `damaged`: why this process's does not count.
/// Collective; throws input where two processes see different ones.
std::optional<Layout> manifest_layout(const std::filesystem::path& directory, std::optional<Error>& damaged,
                                      Communicator& processes);

/// Collective; throws input, the same on every process, where no process sees anything there, and for a directory whose
/// own metadata contradicts itself.
Look look(const CheckpointPlace& place, SourceStore& store, Communicator& processes);

}  // namespace ckpt
