#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt::drafting {

/// One card's array under a name.
struct Piece {
  const StoredArray* array = nullptr;  ///< null: it stores nothing under that name
  std::uint64_t content = 0;           ///< hash of a sample of its bytes: different hashes mean different pieces
};

/// A name, and what each card stores under it. The arrays must outlive it.
struct NameFacts {
  std::string stored;         ///< in the files
  std::string name;           ///< after `rename`
  std::vector<Piece> pieces;  ///< by position
  bool is_constant = false;   ///< every sampled element, on whatever card, has one value
};

/// The cards that store something, and the first of them. There must be at least one.
std::vector<Position> holders(const std::vector<Piece>& pieces);
Position first_holder(const std::vector<Piece>& pieces);
const StoredArray& first_array(const std::vector<Piece>& pieces);

/// Cards classified by what they hold, as far as is known: equal numbers for pieces of one shape and content.
using Classes = std::vector<std::uint32_t>;
inline constexpr std::uint32_t holds_nothing = ~std::uint32_t{0};
Classes classes_of(const std::vector<Piece>& pieces);

/// Where a name is stored: coordinates of the axes along which that makes a difference; the last one of an axis as
/// "last". Absent if no `at` can describe it. Empty: on every card.
struct NameLocation {
  At at;
  At at_last;
};
std::optional<NameLocation> location_of(const Mesh& mesh, const Classes& classes);

/// The axes along which cards that agree on all others hold different things, among cards that hold anything.
std::vector<Axis> differing_axes(const Mesh& mesh, const Classes& classes);

}  // namespace ckpt::drafting
