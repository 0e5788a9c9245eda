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

#include "layout/pattern.hpp"

namespace ckpt {

/// Many patterns in an order of their own, of which the first that matches a name is found without trying them all.
/// Patterns without wildcards and captures are found by hash. Each other is filed under one literal piece of it (what
/// its names begin with, end with or hold), the one that it shares with the fewest, and is tried only for names with
/// that piece.
class PatternIndex {
 public:
  PatternIndex() = default;
  /// The patterns must outlive it, where they are.
  explicit PatternIndex(std::vector<const Pattern*> patterns);
  /// Of the pattern of each of these items.
  template <class Items, class Projection = std::identity>
  static PatternIndex of(const Items& items, Projection pattern_of = {}) {
    std::vector<const Pattern*> patterns;
    for (const auto& item : items) patterns.push_back(&std::invoke(pattern_of, item));
    return PatternIndex(std::move(patterns));
  }

  const Pattern& pattern(std::size_t number) const noexcept { return *patterns_[number]; }

  /// The number of the first pattern, from `from` on, that matches. Throws as Pattern::matches does.
  std::optional<std::size_t> first(std::string_view name, std::size_t from = 0) const;

  /// Calls visit(number), ascending, for all patterns that match the name and some that do not, until it returns true.
  void for_each_candidate(std::string_view name, const std::function<bool(std::size_t number)>& visit) const;

 private:
  using Numbers = std::vector<std::uint32_t>;  // ascending
  using Runs = std::vector<std::span<const std::uint32_t>>;

  /// Pieces of patterns, with the patterns' numbers, to be found at the beginning of a text.
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
      std::size_t shorter;  ///< the longest other piece that this one begins with, or none
    };
    std::vector<Piece> pieces_;  // in order of their texts
  };

  struct Filing;

  std::vector<const Pattern*> patterns_;
  std::unordered_map<std::string, Numbers> plain_;
  Pieces first_;
  Pieces last_;  // each backwards
  Pieces inner_;
  Numbers open_;  // without a piece that tells them apart
};

}  // namespace ckpt
