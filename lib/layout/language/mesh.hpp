#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckpt {

/// Limit on the cards of a layout: far above any machine, far below what would exhaust memory.
inline constexpr std::uint64_t max_cards = 1ULL << 20;

/// The arrangement of the cards: positions are numbered in row-major order; each has one coordinate for each axis, and
/// a card id.
struct Mesh {
  std::vector<std::string> axes;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> cards;  ///< the card id at each position; empty: equal to the position

  /// Returns the number of positions. The parser has checked that it is at most max_cards.
  std::uint64_t size() const noexcept;
  std::uint64_t card(std::uint64_t position) const noexcept { return cards.empty() ? position : cards[position]; }
  std::uint64_t coordinate(std::uint64_t position, std::size_t axis) const noexcept;
  std::vector<std::uint64_t> coordinates(std::uint64_t position) const;
  /// Return the number of combinations of coordinates on these axes, and the index of a card's combination, the first
  /// axis major.
  std::uint64_t combinations(const std::vector<std::size_t>& of_axes) const noexcept;
  std::uint64_t combination(const std::vector<std::size_t>& of_axes,
                            const std::vector<std::uint64_t>& coordinates_of_card) const noexcept;
  /// Returns the index of the combination of the card at a position.
  std::uint64_t combination_at(const std::vector<std::size_t>& of_axes, std::uint64_t position) const noexcept;
  /// Returns the position with the coordinates of that combination on these axes, and 0 on all others.
  std::uint64_t position_of_combination(const std::vector<std::size_t>& of_axes, std::uint64_t number) const noexcept;
  /// Returns the difference of positions for a step of one along `axis`.
  std::uint64_t stride(std::size_t axis) const noexcept;
  /// Returns the positions in the order of their card ids.
  std::vector<std::uint64_t> by_card() const;
  std::optional<std::size_t> axis(const std::string& name) const noexcept;

  friend bool operator==(const Mesh&, const Mesh&) = default;
};

}  // namespace ckpt
