#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "layout/placement.hpp"

namespace ckpt::drafting {

/// What one card stores under a name.
struct Piece {
  const StoredArray* array = nullptr;  ///< null: it stores nothing of that name
  std::uint64_t content = 0;           ///< of a sample of its bytes: pieces that differ here differ
};

/// A name, and what each card stores under it. The arrays must outlive it.
struct NameFacts {
  std::string stored;         ///< in the files
  std::string name;           ///< after `rename`
  std::vector<Piece> pieces;  ///< by position
  bool is_constant = false;   ///< every element that was sampled, on whatever card, has one value
};

/// The cards that store something, and the first of them. There must be one.
std::vector<Position> holders(const std::vector<Piece>& pieces);
Position first_holder(const std::vector<Piece>& pieces);
const StoredArray& first_array(const std::vector<Piece>& pieces);

/// Cards numbered by what they hold, as far as is known: equal numbers for pieces of one shape and content.
using Classes = std::vector<std::uint32_t>;
inline constexpr std::uint32_t holds_nothing = ~std::uint32_t{0};
Classes classes_of(const std::vector<Piece>& pieces);

/// Where a name is stored, as coordinates of the axes along which that makes a difference; the last one of an axis as
/// "last". Nothing where no `at` says it. Empty: on every card.
struct Presence {
  At at;
  At at_last;
};
std::optional<Presence> presence_of(const Mesh& mesh, const Classes& classes);

/// The axes along which cards that differ on no other hold different things, among those that hold any.
std::vector<Axis> differing_axes(const Mesh& mesh, const Classes& classes);

}  // namespace ckpt::drafting
