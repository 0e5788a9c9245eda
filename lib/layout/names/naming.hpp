#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/names/index_blocks.hpp"
#include "layout/names/pattern_index.hpp"

namespace ckpt {

/// A logical parameter's name in a card's file, and the coordinates that follow from its counted indices.
struct StoredName {
  std::string name;
  At at;
};

/// The keys that apply to a logical name: those of the first rule that matches, with `like` followed and overridden.
struct Decision {
  Keys keys;
  std::optional<std::size_t> rule;  ///< nothing: the layout's default, or a table
  std::vector<std::string> likes;   ///< the names that its rule borrows from, nearest first
  std::vector<std::size_t> rules;   ///< that rule and those that it borrows from, the last lender last
};

/// A layout's statements about names, indexed for many lookups. It refers to the layout, which must outlive it.
class Naming {
 public:
  explicit Naming(const Layout& layout);

  /// Sets how far each entry of `indices` counts (IndexCensus::totals). Without it, an entry without `total` counts
  /// nothing.
  void count_to(const std::vector<std::uint64_t>& totals);

  /// Converts a name in a file to the name that the layout's patterns use (`rename` forwards).
  std::string renamed(const std::string& stored) const;

  /// The inverse of `renamed`. Throws layout if `renamed` would not restore `name`.
  std::string unrenamed(const std::string& name) const;

  /// Converts a renamed name on a card with these coordinates to the logical name (`indices` forwards: local numbers
  /// become global). Throws input for a number beyond the card's block.
  std::string counted(const std::string& name, const std::vector<std::uint64_t>& coordinates) const;

  /// Converts a logical name to the renamed name (with local numbers) and the coordinates of its indices. Throws layout
  /// for a number beyond `total`.
  StoredName uncounted(const std::string& logical) const;

  /// Returns nothing if no rule matches and the default is "error". Throws layout for a cycle of `like`, or if there is
  /// nothing to borrow.
  std::optional<Decision> decide(const std::string& logical) const;

  /// Returns the rule that applies to a name, as an index into Layout::parameters, or nothing.
  std::optional<std::size_t> rule_of(const std::string& logical) const;

  /// Returns the parameter that this one equals (`equals` of the rule that matches), or nothing.
  std::optional<std::string> equal_of(const std::string& logical) const;

 private:
  /// The numbers in a name that an entry of `indices` counts.
  struct IndexNumbers {
    Pattern::CaptureMatch index;
    std::optional<Pattern::CaptureMatch> chunk;
  };

  template <class Visit>
  void for_each_count(std::string& name, Visit&& visit) const;
  static std::string with_numbers(const std::string& name, const IndexNumbers& counted, std::uint64_t index,
                                  std::uint64_t chunk);
  std::string without_group(const std::string& stored) const;
  std::string describe_place(const IndexRule& rule, const std::vector<std::uint64_t>& coordinates) const;

  const Layout& layout_;
  PatternIndex stored_;  // of `rename`
  PatternIndex names_;   // of `rename`
  PatternIndex indices_;
  std::vector<IndexBlocks> blocks_;  // of `indices`
  PatternIndex rules_;
  std::vector<std::size_t> rule_of_;  // by pattern of rules_
};

}  // namespace ckpt
