#pragma once

#include <string>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/facts.hpp"
#include "draft/open.hpp"
#include "draft/rules.hpp"
#include "layout/layout.hpp"

namespace ckpt::drafting {

/// What comes out where the cards are arranged in one way.
struct Attempt {
  Layout layout;  ///< all but the rules
  std::vector<Decided> decided;
  OpenNames open;
  std::vector<std::string> missing;  ///< of the open names those that are the reference's alone
  std::vector<std::string> notes;

  /// The layout with the rules for what is decided.
  Layout with_rules() const;
};

/// Finds out what the pieces on a layout's cards are: what their names count, and how each parameter is cut. `whole`
/// may be null. Throws what `cards` and `whole` throw.
Attempt attempt(Layout layout, std::vector<NameFacts> facts, CardData& cards, WholeTensors* whole);

}  // namespace ckpt::drafting
