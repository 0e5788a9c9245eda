#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layout/names/pattern.hpp"

namespace ckpt {

/// An ordered list of many patterns, which finds the first that matches a name without trying them all. Patterns
/// without wildcards and captures are found by hash. Every other pattern is filed under one of its literal pieces (the
/// beginning, the end or an inner part of its names), the one that it shares with the fewest others, and is tried only
/// for names with that piece.
class PatternIndex {
 public:
  PatternIndex() = default;
  /// The patterns must outlive it, at the same addresses.
  explicit PatternIndex(std::vector<const Pattern*> patterns);
  /// Builds the index from the pattern of each of these items.
  template <class Items, class Projection = std::identity>
  static PatternIndex of(const Items& items, Projection pattern_of = {}) {
    std::vector<const Pattern*> patterns;
    for (const auto& item : items) patterns.push_back(&std::invoke(pattern_of, item));
    return PatternIndex(std::move(patterns));
  }

  const Pattern& pattern(std::size_t number) const noexcept { return *patterns_[number]; }

  /// Returns the number of the first pattern, starting at `from`, that matches. Throws as Pattern::matches does.
  std::optional<std::size_t> first(std::string_view name, std::size_t from = 0) const;

  /// Calls visit(number), ascending, for all patterns that match the name, and for some that do not, until it returns
  /// true.
  void for_each_candidate(std::string_view name, const std::function<bool(std::size_t number)>& visit) const;

 private:
  using Numbers = std::vector<std::uint32_t>;  // ascending
  using Runs = std::vector<std::span<const std::uint32_t>>;

  /// Pieces of patterns, with the patterns' numbers, for lookup at the beginning of a text.
  class Pieces {
   public:
    Pieces() = default;
    explicit Pieces(std::map<std::string, Numbers> numbers);
    bool empty() const noexcept { return pieces_.empty(); }
    void find(std::string_view text, Runs& runs) const;

   private:
    struct Piece {
      std::string text;
      Numbers numbers;
      std::size_t shorter;  ///< the longest other piece that is a prefix of this one, or none
    };
    std::vector<Piece> pieces_;  // sorted by text
  };

  struct PieceTable;

  std::vector<const Pattern*> patterns_;
  std::unordered_map<std::string, Numbers> plain_;
  Pieces first_;
  Pieces last_;  // each reversed
  Pieces inner_;
  Numbers open_;  // patterns without a distinctive piece
};

}  // namespace ckpt
