#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "processes/communicator.hpp"
#include "store/catalog.hpp"

namespace ckpt::cli {

/// A checkpoint's files as their metadata tells them.
struct CardFiles {
  std::vector<std::string> names;     ///< relative to the checkpoint's directory, in natural order
  std::vector<FileCatalog> catalogs;  ///< parallel; files that declare the same share a schema
  std::optional<Layout> layout;  ///< given, or the one that the files carry; then there is one file for each position
};

/// Reads the metadata of a directory's or a single file's files, shared out over the processes that can see them.
/// `given`: the layout that says which files those are; without it all files of tensors below the directory.
/// Collective; throws input and layout, the same on every process.
CardFiles read_card_files(const std::filesystem::path& path, const std::optional<Layout>& given,
                          Communicator& processes);

}  // namespace ckpt::cli
