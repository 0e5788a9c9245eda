#pragma once

#include <string>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/facts.hpp"
#include "diagnosis/draft/open.hpp"
#include "diagnosis/draft/rules.hpp"
#include "layout/language/layout.hpp"

namespace ckpt::drafting {

/// The result of one arrangement of the cards.
struct Attempt {
  Layout layout;  ///< everything but the rules
  std::vector<ParameterRule> decided;
  OpenNames open;
  std::vector<std::string> missing;  ///< open names that only the reference has
  std::vector<std::string> notes;

  /// The layout with rules for the decided parameters.
  Layout with_rules() const;
};

/// Determines what the pieces on a layout's cards are: what their names count, and how each parameter is cut. `whole`
/// may be null; `unfused` as for `decide`. Throws what `cards` and `whole` throw.
Attempt attempt(Layout layout, std::vector<NameFacts> facts, CardData& cards, WholeTensors* whole,
                const std::vector<Pattern>& unfused);

}  // namespace ckpt::drafting
