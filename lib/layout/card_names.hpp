#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/card_words.hpp"
#include "layout/layout.hpp"

namespace ckpt {

/// The names of a layout in which coordinates of cards stand: groups of shared files that are a card's own
/// ("prefix": "rank_{card}/"), and arrays whose names say whose piece they are ("stored": "w/part_{tp}"). Checkpoints
/// speak of such arrays by names that are alike on all cards, with the words in the place of the numbers. It refers to
/// the layout, which must outlive it.
class CardNames {
 public:
  explicit CardNames(const Layout& layout);

  /// Whether the layout has no such names: then all that follows leaves names as they are.
  bool empty() const noexcept { return is_empty_; }

  struct Name {
    std::string stored;  ///< of an array, within its file: alike on all cards
    std::string value;   ///< of what is no array and needs no rule: the same without group and words
  };
  /// What a name in a file is to the card that owns the file; nothing where it is another card's that shares the file.
  /// Throws input where it is of no card, or of one that does not share it.
  std::optional<Name> of_card(const CardFiles::File& file, const std::string& name) const;

  /// The numbers of a card that stand in such names: cards with the same numbers take the same of equal files.
  std::vector<std::string> numbers_of(std::uint64_t position) const;

 private:
  bool is_of(const CardFiles::File& file, const CardPattern& pattern, const std::vector<std::string>& numbers,
             const std::string& name) const;
  std::optional<std::uint64_t> position_of(const CardFiles::File& file, const CardPattern& pattern,
                                           const std::vector<std::string>& numbers) const;

  const Layout& layout_;
  bool is_empty_ = true;
  std::vector<std::optional<CardPattern>> groups_;   // for each entry of `files`
  std::vector<std::optional<CardPattern>> renames_;  // for each entry of `rename`
};

/// The first text of a layout in which such words stand; empty where there is none.
std::string first_card_name(const Layout& layout);

/// The layout with names that are the same on all cards, and a file for each card where cards shared one by their
/// names: what can be written.
Layout with_plain_names(Layout layout);

}  // namespace ckpt
