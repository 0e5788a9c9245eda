#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace ckpt::cli {

/// A checkpoint's files as their metadata tells them.
struct CardFiles {
  std::vector<std::string> names;      ///< relative to the checkpoint's directory, in natural order
  std::vector<FileCatalog> catalogs;   ///< parallel; files that declare the same share a schema
  bool is_single_file = false;         ///< that is given itself, not in a directory
  std::vector<std::string> prefixes;   ///< parallel: what the layout puts before the names in each
  std::optional<Checkpoint> arranged;  ///< the same by a layout, where one is given or the files carry it
};

/// Reads the metadata of a directory's or a single file's files, shared out over the processes that can see them.
/// `given`: the layout that says which files those are; without it all files of tensors below the directory.
/// Collective; throws input and layout, the same on every process.
CardFiles read_card_files(const std::filesystem::path& path, const std::optional<Layout>& given,
                          Communicator& processes);

/// The same for all files of tensors there are, whatever layout they carry: neither prefixes nor arranged.
CardFiles find_card_files(const std::filesystem::path& path, SourceStore& store, Communicator& processes);

}  // namespace ckpt::cli
