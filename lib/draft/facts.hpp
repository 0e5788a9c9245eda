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

/// Whether two pieces are the same as far as is known: both absent, or of one shape and content.
bool is_same(const Piece& a, const Piece& b) noexcept;

/// Cards numbered by what they hold: equal numbers for the same.
std::vector<std::uint32_t> classes_of(const NameFacts& facts);

/// The first of the arrays that there are. There must be one.
const StoredArray& first_array(const NameFacts& facts);

/// Where a name is stored, as coordinates of the axes along which that makes a difference; the last one of an axis as
/// "last". Nothing where no `at` says it. Empty: on every card.
struct Presence {
  At at;
  At at_last;
};
std::optional<Presence> presence_of(const Mesh& mesh, const std::vector<Piece>& pieces);

/// The axes along which cards that differ on no other hold different things, among those that hold any.
std::vector<Axis> differing_axes(const Mesh& mesh, const std::vector<Piece>& pieces);

}  // namespace ckpt::drafting
