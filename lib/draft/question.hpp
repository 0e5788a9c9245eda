#pragma once

#include <optional>
#include <string>
#include <vector>

#include "draft/facts.hpp"

namespace ckpt::drafting {

/// A parameter of which it is to be found out how the cards' pieces make it.
struct Question {
  std::string name;                 ///< logical
  std::string stored;               ///< in the files
  std::vector<Piece> pieces;        ///< by position
  bool is_constant = false;         ///< all its elements seem to have one value, so that its bytes prove nothing
  Presence presence;                ///< where the pieces are
  std::optional<Extents> expected;  ///< the logical shape, where it is known
  bool has_data = false;            ///< and the elements

  const StoredArray& first() const;
  Position first_position() const;
};

}  // namespace ckpt::drafting
