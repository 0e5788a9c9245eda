#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/names/card_words.hpp"

namespace ckpt {

/// The names of a layout that contain coordinates of cards: groups of shared files that belong to one card ("prefix":
/// "rank_{card}/"), and arrays whose names say whose piece they are ("stored": "w/part_{tp}"). Checkpoints refer to
/// such arrays by common names, the same on all cards, with the words in place of the numbers. It refers to the layout,
/// which must outlive it.
class CardNames {
 public:
  explicit CardNames(const Layout& layout);

  /// Returns whether the layout has no such names: then the functions below leave names unchanged.
  bool empty() const noexcept { return is_empty_; }

  struct Name {
    std::string stored;  ///< the common name of an array within its file
    std::string value;   ///< for values that are not arrays and need no rule: the common name without group and words
  };
  /// Returns what a name in a file means to the card that owns the file; nothing if it belongs to another card that
  /// shares the file. Throws input if it belongs to no card, or to one that does not share the file.
  std::optional<Name> of_card(const CardFiles::File& file, const std::string& name) const;

  /// Returns the numbers of a card that occur in such names: cards with equal numbers take the same contents of equal
  /// files.
  std::vector<std::string> numbers_of(std::uint64_t position) const;

 private:
  bool is_of(const CardFiles::File& file, const CardPattern& pattern, const std::vector<std::string>& numbers,
             const std::string& name) const;
  std::optional<std::uint64_t> position_of(const CardFiles::File& file, const CardPattern& pattern,
                                           const std::vector<std::string>& numbers) const;

  const Layout& layout_;
  bool is_empty_ = true;
  std::vector<std::optional<CardPattern>> groups_;   // by entry of `files`
  std::vector<std::optional<CardPattern>> renames_;  // by entry of `rename`
};

/// Returns the first text of a layout that contains such words; empty if there is none.
std::string first_card_name(const Layout& layout);

/// Returns the layout with the common names, and one file for each card where cards shared a file by their names: a
/// form that can be written.
Layout with_plain_names(Layout layout);

}  // namespace ckpt
