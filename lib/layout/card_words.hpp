#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/mesh.hpp"
#include "layout/pattern.hpp"

namespace ckpt {

/// `{card}`, `{AXIS}` or `{AXIS:02}` in a name: where a coordinate of the card stands whose name it is.
struct CardWord {
  std::string text;                 ///< "tp:02": what stands between the braces
  std::optional<std::size_t> axis;  ///< nothing: the card's id
  std::size_t width = 0;            ///< digits at least, filled up with zeros

  std::string number(const Mesh& mesh, std::uint64_t position) const;
};

/// The word that stands between braces; nothing where it is neither {card} nor an axis of the mesh. Throws layout for a
/// width that is none.
std::optional<CardWord> card_word(std::string_view inside, const Mesh& mesh);

/// A name with the numbers of the card at a position in the place of its words: "w/part_{tp}" → "w/part_1".
std::string with_numbers_of_card(const std::string& name, const Mesh& mesh, std::uint64_t position);

/// The axes, ascending, whose coordinates the words of a name say: all where the card is named.
std::vector<std::size_t> axes_of_words(const std::string& name, const Mesh& mesh);

/// A pattern of names in files in which coordinates of their cards stand: "w/part_{tp}", "rank_{card}/{x}". What it
/// makes of a name, "w/part_{tp}" of "w/part_1", is alike on all cards: by that a layout speaks of the array.
class CardPattern {
 public:
  /// Nothing where the text has no such words. `captures`: names in braces that are captures, though an axis may be
  /// called so. Throws layout where it is not well formed.
  static std::optional<CardPattern> parse(const std::string& text, const Mesh& mesh,
                                          const std::set<std::string>& captures);

  const std::vector<CardWord>& words() const noexcept { return words_; }
  /// Of the names that are alike on all cards: it matches the words themselves.
  const Pattern& alike() const noexcept { return alike_; }

  struct Found {
    std::vector<std::string> numbers;  ///< for each of `words`, in digits
    Captures captures;
    std::string name;  ///< alike on all cards
  };
  std::optional<Found> match(const std::string& name) const;

 private:
  std::vector<CardWord> words_;
  Pattern alike_;
  Pattern stored_;  // with a capture of digits for each word
};

}  // namespace ckpt
