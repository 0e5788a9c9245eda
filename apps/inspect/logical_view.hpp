#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt::cli {

/// A stored shape and the number of cards whose files have it.
struct ShapeCount {
  Extents shape;
  std::uint64_t cards = 0;
};

/// The boxes of the logical tensor that some cards hold.
struct CardBoxes {
  std::vector<std::uint64_t> cards;  ///< ids
  std::vector<Box> boxes;            ///< without padding; none: an empty shard
};

/// What a layout makes of one parameter.
struct LogicalParameter {
  ParameterId id = 0;
  std::string name;
  std::string stored_name;
  std::string dtype;
  Extents shape;
  std::uint64_t bytes = 0;
  std::uint64_t copies = 1;
  std::string rule;                ///< the patterns of the rule that decided, "(default)" or "(bucket NAME)"
  std::vector<ShapeCount> stored;  ///< the commonest first
};

/// All parameters of a placement, in natural order.
std::vector<LogicalParameter> logical_view(const Placement& placement);

/// Which box of a parameter each card holds, by card; cards that hold the same stand together.
std::vector<CardBoxes> boxes_of(const Placement& placement, ParameterId parameter);

}  // namespace ckpt::cli
