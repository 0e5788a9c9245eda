#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/checkpoint_probe.hpp"

namespace ckpt {

/// Files of tensors as their metadata tells them, whatever layout they carry.
struct FoundFiles {
  std::filesystem::path path;  ///< a directory, or with `is_single_file` the file
  bool is_single_file = false;
  std::vector<std::string> names;     ///< relative to the directory, in natural order
  std::vector<FileCatalog> catalogs;  ///< parallel; files that declare the same share a schema
};

/// Reads the metadata of all files of tensors below a directory, or of a single file, shared out over the processes
/// that see them. Collective; throws input, the same on every process, for what cannot be read, or where there is none.
FoundFiles find_files(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

/// The files as a layout has them, of which a single file is the first. Throws input, saying `missing` of the name,
/// where a file is not there that the layout asks for.
Checkpoint arranged(const FoundFiles& found, Layout layout, const Error::Text& missing);

/// What a path holds, as far as it can be told.
struct FoundCheckpoint {
  FoundFiles files;                       ///< with `checkpoint` those that its layout names
  std::optional<Checkpoint> checkpoint;   ///< by the layout that is given or found; nothing: there is none
  std::optional<Error> damaged_manifest;  ///< why this process's does not count
  std::optional<Error> unplaced;          ///< why what files say of their pieces is not enough
};

/// Finds a checkpoint. The first of these that exists is its layout: the given one; the one in its manifest; the one
/// that follows from the directory's metadata or index; the one that all its files carry, if they are all the files
/// that it names; the one that follows from the pieces that ranks' files declare. Without any, returns the files alone.
/// Collective; throws input and layout, the same on every process.
FoundCheckpoint find_checkpoint(const CheckpointPlace& place, SourceStore& store, Communicator& processes);
/// Finds a checkpoint that has been probed already. Throws as find_checkpoint.
FoundCheckpoint find_probed(CheckpointProbe seen, SourceStore& store, Communicator& processes);

/// Returns the layout that the files at a path carry or declare; nothing for a path without one, or without a
/// checkpoint. Collective; throws as find_checkpoint.
std::optional<Layout> layout_of_itself(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

/// The checkpoint that was found; a single file that carries no layout holds everything whole. Collective; throws as
/// Checkpoint::open.
Checkpoint opened(FoundCheckpoint found, SourceStore& store, Communicator& processes);

}  // namespace ckpt
