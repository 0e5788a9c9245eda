#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "layout/card_names.hpp"
#include "layout/file_table.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A file of which a card owns a part.
struct SharedFile {
  FileCatalog catalog;              ///< of all of it
  std::vector<std::size_t> places;  ///< of the part's datasets among all
};

/// Leaves of each file what its card owns, by the names that are alike on all cards, where a layout has names with
/// coordinates of cards (CardNames). `files`: by their numbers, of which those of one path say the same. Gives the
/// whole files, parallel; none where the layout has no such names. Throws input as CardNames::of_card.
std::vector<SharedFile> take_own_names(std::vector<FileCatalog>& files, const FileTable& table, const Layout& layout);

/// Reads a card's part: its datasets are counted as the part's catalog has them.
std::unique_ptr<SourceFile> open_part(const std::filesystem::path& path, const SharedFile& file, SourceStore& store);

}  // namespace ckpt
