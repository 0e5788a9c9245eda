#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/index_blocks.hpp"
#include "layout/layout.hpp"
#include "layout/pattern_index.hpp"

namespace ckpt {

/// A logical parameter's name in a card's file, and the coordinates that its counted indices put it on.
struct StoredName {
  std::string name;
  At at;
};

/// The keys that decide for a logical name: those of the first rule that matches, `like` followed and overridden.
struct Decision {
  Keys keys;
  std::optional<std::size_t> rule;  ///< nothing: the layout's default, or a table
  std::vector<std::string> likes;   ///< the names that its rule borrows from, the nearest first
  std::vector<std::size_t> rules;   ///< that one and those that it borrows from, the last lender last
};

/// What a layout says of names, indexed for asking about many of them. It refers to the layout, which must outlive it.
class Naming {
 public:
  explicit Naming(const Layout& layout);

  /// Says how far each entry of `indices` counts (IndexCensus::totals). Without it, one whose `total` is left out
  /// counts nothing.
  void count_to(const std::vector<std::uint64_t>& totals);

  /// The name in the file → the name that the layout's patterns speak of (`rename` forwards).
  std::string renamed(const std::string& stored) const;

  /// The inverse. Throws layout when reading would not give `name` back.
  std::string unrenamed(const std::string& name) const;

  /// A renamed name on a card with these coordinates → the logical name (`indices` forwards: local numbers become
  /// global). Throws input for a number beyond the card's block.
  std::string counted(const std::string& name, const std::vector<std::uint64_t>& coordinates) const;

  /// A logical name → the renamed name (local numbers) and where its indices put it.
  /// Throws layout for a number beyond `total`.
  StoredName uncounted(const std::string& logical) const;

  /// Nothing when no rule matches and the default is "error". Throws layout for `like` without end or with nothing to
  /// borrow.
  std::optional<Decision> decide(const std::string& logical) const;

  /// The rule that decides for a name, an index into Layout::parameters, or nothing.
  std::optional<std::size_t> rule_of(const std::string& logical) const;

  /// The parameter whose values this one has (`equals` of the rule that matches), or nothing.
  std::optional<std::string> equal_of(const std::string& logical) const;

 private:
  /// The numbers of a name that an entry of `indices` counts.
  struct Counted {
    Pattern::Found index;
    std::optional<Pattern::Found> chunk;
  };

  template <class Visit>
  void for_each_count(std::string& name, Visit&& visit) const;
  static std::string with_numbers(const std::string& name, const Counted& counted, std::uint64_t index,
                                  std::uint64_t chunk);
  std::string without_group(const std::string& stored) const;
  std::string describe_place(const IndexRule& rule, const std::vector<std::uint64_t>& coordinates) const;

  const Layout& layout_;
  PatternIndex stored_;  // of `rename`
  PatternIndex names_;   // of `rename`
  PatternIndex indices_;
  std::vector<IndexBlocks> blocks_;  // of `indices`
  PatternIndex rules_;
  std::vector<std::size_t> rule_of_;  // for each pattern of rules_
};

}  // namespace ckpt
