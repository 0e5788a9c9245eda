#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/language/mesh.hpp"
#include "layout/names/pattern.hpp"

namespace ckpt {

/// `{card}`, `{AXIS}` or `{AXIS:02}` in a name: the place of a coordinate of the card that the name belongs to.
struct CardWord {
  std::string text;                 ///< "tp:02": the text between the braces
  std::optional<std::size_t> axis;  ///< nothing: the card's id
  std::size_t width = 0;            ///< minimum number of digits, padded with zeros

  std::string number(const Mesh& mesh, std::uint64_t position) const;
};

/// Parses the text between braces; returns nothing if it is neither {card} nor an axis of the mesh. Throws layout for
/// an invalid width.
std::optional<CardWord> card_word(std::string_view inside, const Mesh& mesh);

/// Replaces the words of a name by the numbers of the card at a position: "w/part_{tp}" → "w/part_1".
std::string with_numbers_of_card(const std::string& name, const Mesh& mesh, std::uint64_t position);

/// Returns the axes, ascending, whose coordinates occur as words in a name: all axes if the card does.
std::vector<std::size_t> axes_of_words(const std::string& name, const Mesh& mesh);

/// A pattern for names in files that contain coordinates of their cards: "w/part_{tp}", "rank_{card}/{x}". It maps a
/// name such as "w/part_1" to the common name "w/part_{tp}", by which a layout refers to the array on all cards.
class CardPattern {
 public:
  /// Returns nothing if the text has no such words. `captures`: names in braces that are captures, even if an axis has
  /// the same name. Throws layout if the text is not well formed.
  static std::optional<CardPattern> parse(const std::string& text, const Mesh& mesh,
                                          const std::set<std::string>& captures);

  const std::vector<CardWord>& words() const noexcept { return words_; }
  /// Returns the pattern for common names: it matches the words themselves.
  const Pattern& alike() const noexcept { return alike_; }

  struct NameMatch {
    std::vector<std::string> numbers;  ///< for each of `words`, as digits
    Captures captures;
    std::string name;  ///< the common name
  };
  std::optional<NameMatch> match(const std::string& name) const;

 private:
  std::vector<CardWord> words_;
  Pattern alike_;
  Pattern stored_;  // with a capture of digits for each word
};

}  // namespace ckpt
