#pragma once

#include <string>
#include <vector>

#include "diagnosis/draft/facts.hpp"
#include "diagnosis/draft/open.hpp"

namespace ckpt::drafting {

/// Arrays whose names state by a number, "w/part_0" or "rank_0/w", which card's piece of a parameter they are.
struct CardParts {
  std::vector<Rename> renames;  ///< for them, if each card has only those of its own number
  OpenNames open;               ///< those of one file, whose cards only the user knows
};

/// A number counts if the word before it says that it numbers pieces or cards ("part", "shard", "rank"), and if all
/// numbers from 0 on are there: layers and experts have numbers, too.
CardParts find_card_parts(const std::vector<NameFacts>& facts, const Mesh& mesh);

}  // namespace ckpt::drafting
