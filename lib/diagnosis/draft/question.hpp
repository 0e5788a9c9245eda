#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/draft/facts.hpp"

namespace ckpt::drafting {

/// A parameter, for which the question is how the cards' pieces make it.
struct Question {
  std::string name;               ///< logical
  std::string stored;             ///< in the files
  std::vector<Piece> pieces;      ///< by position
  bool is_constant = false;       ///< all elements seem to have one value, so that its bytes prove nothing
  NameLocation location;          ///< where the pieces are
  At implied;                     ///< the part of `location` that a layout's `indices` imply
  std::vector<Axis> differing;    ///< the axes along which the pieces differ
  std::optional<Shape> expected;  ///< the logical shape, if it is known
  bool has_data = false;          ///< the elements are known, too

  const StoredArray& first() const { return first_array(pieces); }
};

}  // namespace ckpt::drafting
