#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "layout/names/card_names.hpp"
#include "layout/names/file_table.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A file of which a card owns a part.
struct SharedFile {
  FileCatalog catalog;              ///< of the whole file
  std::vector<std::size_t> places;  ///< the part's datasets, as indices into those of the whole file
};

/// Reduces each file to what its card owns, under the names that all cards have in common, where a layout has names
/// with coordinates of cards (CardNames). `files`: by file number; those of one path have equal catalogs. Returns the
/// whole files, parallel to `files`; nothing where the layout has no such names. Throws input as CardNames::of_card
/// does.
std::vector<SharedFile> take_own_names(std::vector<FileCatalog>& files, const FileTable& table, const Layout& layout);

/// Opens a card's part for reading: its datasets are numbered as in the part's catalog.
std::unique_ptr<SourceFile> open_part(const std::filesystem::path& path, const SharedFile& file, SourceStore& store);

}  // namespace ckpt
