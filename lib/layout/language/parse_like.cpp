#include <optional>
#include <utility>

#include "layout/language/parse_sections.hpp"
#include "layout/names/pattern_index.hpp"

namespace ckpt::parsing {

namespace {

/// Finds the rule that applies to a name: the first that matches.
class Decider {
 public:
  explicit Decider(const std::vector<Rule>& rules) {
    std::vector<const Pattern*> patterns;
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (const auto& name : rules[i].names) {
        patterns.push_back(&name);
        rule_of_.push_back(i);
      }
    patterns_ = PatternIndex(std::move(patterns));
  }

  /// Returns nothing if no rule applies, or if a hostile layout makes the search too long.
  std::optional<std::size_t> rule_of(const std::string& name) {
    std::optional<std::size_t> found;
    patterns_.for_each_candidate(name, [&](std::size_t number) {
      const Pattern& pattern = patterns_.pattern(number);
      if (!can_afford(pattern, name)) return true;
      if (pattern.matches(name)) found = rule_of_[number];
      return found.has_value();
    });
    return found;
  }

 private:
  /// Deducts the cost of a match from the remaining steps: one step for each pair of a byte of the pattern and one of
  /// the name.
  bool can_afford(const Pattern& pattern, const std::string& name) {
    const std::size_t cost = (pattern.text().size() + 1) * (name.size() + 1);
    if (pattern.has_repeats() || cost > steps_left_) return false;
    steps_left_ -= cost;
    return true;
  }

  PatternIndex patterns_;
  std::vector<std::size_t> rule_of_;  // by pattern
  std::size_t steps_left_ = std::size_t{1} << 28;
};

}  // namespace

/// A `like` without captures leads to one rule, whatever the name; a walk along such rules that meets itself is a
/// cycle.
void check_like_cycles(const Node& node, const std::vector<Rule>& rules) {
  Decider decider(rules);
  std::vector<std::size_t> seen(rules.size(), 0);  // by rule: the walk that visited it, counted from 1
  for (std::size_t start = 0; start < rules.size(); ++start) {
    std::size_t at = start;
    while (seen[at] == 0 && rules[at].like && rules[at].like->is_plain()) {
      seen[at] = start + 1;
      const auto name = rules[at].like->fill({});
      const auto next = decider.rule_of(name);
      if (!next) break;
      if (seen[*next] == start + 1)
        node.item(at).member("like").fail("\"" + name + "\", which leads back to a rule that borrows from this one",
                                          "rules that end at one without \"like\"");
      at = *next;
    }
  }
}

}  // namespace ckpt::parsing
