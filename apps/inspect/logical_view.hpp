#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"
#include "report/card_ids.hpp"

namespace ckpt::cli {

/// A stored shape and the cards whose files have it.
struct StoredShape {
  Shape shape;
  CardIds cards;
};

/// The boxes of the logical tensor that some cards hold.
struct CardBoxes {
  std::vector<Position> positions;  ///< of those cards, ascending
  std::vector<Box> boxes;           ///< without padding, in stored order; empty: an empty shard
};

/// One parameter as a layout describes it.
struct LogicalParameter {
  ParameterId id = 0;
  std::string name;
  std::string stored_name;
  std::string dtype;
  Shape shape;
  std::uint64_t bytes = 0;
  std::uint64_t copies = 1;
  std::string rule;                 ///< the patterns of the rule that decided, "(default)" or "(bucket NAME)"
  std::vector<StoredShape> stored;  ///< the commonest first
};

/// All parameters of a placement, in natural order.
std::vector<LogicalParameter> logical_view(const Placement& placement);

/// The deciding rule, by the pattern that matches the parameter's name: "*.w", "*.w, … (7 more)"; "(default)",
/// "(table)" or "(bucket NAME)". A rule from a directory's own metadata may have hundreds of patterns.
std::string rule_of(const Placement& placement, ParameterId parameter);

/// The ids of the cards at these positions, in their order.
std::vector<std::uint64_t> card_ids(const Mesh& mesh, const std::vector<Position>& positions);

/// The boxes of a parameter that each card holds, by position; cards that hold the same share an entry.
std::vector<CardBoxes> boxes_of(const Placement& placement, ParameterId parameter);

}  // namespace ckpt::cli
