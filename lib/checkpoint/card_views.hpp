#pragma once

#include <vector>

#include "layout/card_names.hpp"
#include "layout/file_table.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// Of each file what its card owns, by the names that are alike on all cards, where a layout has names with coordinates
/// of cards (CardNames). `files`: by their numbers, of which those of one path say the same. Throws input as
/// CardNames::of_card.
void take_own_names(std::vector<FileCatalog>& files, const FileTable& table, const Layout& layout);

}  // namespace ckpt
