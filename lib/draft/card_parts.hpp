#pragma once

#include <string>
#include <vector>

#include "draft/facts.hpp"
#include "draft/open.hpp"

namespace ckpt::drafting {

/// Arrays whose names say by a number, "w/part_0" or "rank_0/w", whose piece of one parameter they are.
struct CardParts {
  std::vector<Rename> renames;  ///< that say so, where each card has those of its own number alone
  OpenNames open;               ///< those of one file, of which only the user knows the cards
};

/// A number counts where the word before it says that it numbers pieces or cards ("part", "shard", "rank"), and where
/// all from 0 on are there: layers and experts have numbers, too.
CardParts find_card_parts(const std::vector<NameFacts>& facts, const Mesh& mesh);

}  // namespace ckpt::drafting
