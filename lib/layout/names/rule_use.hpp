#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "layout/names/naming.hpp"

namespace ckpt {

/// Returns "parameter 'w' (a.json, rule \"*.w\")". `rule`: see Decision.
std::string describe(const Layout& layout, const std::string& name, std::optional<std::size_t> rule);
std::string describe_member(const Layout& layout, const std::string& name, const Bucket& bucket);

/// Throws an error of this kind that lists, in groups, the parameters that no rule matches.
[[noreturn]] void refuse_unmatched(const Layout& layout, const std::vector<std::string>& names, Kind kind);

/// Records which rules of a layout apply to any parameter, directly or through `like`.
class RuleUse {
 public:
  /// `layout` must outlive it.
  explicit RuleUse(const Layout& layout)
      : layout_(layout), used_(layout.parameters.size(), false), of_members_(layout.parameters.size(), false) {}

  void add(const Decision& decision);
  void add(std::size_t rule) { used_[rule] = true; }
  /// Adds the decision for a bucket's member: its rule may give `equals`, and nothing else.
  void add_member(const Decision& decision) {
    if (decision.rule) of_members_[*decision.rule] = true;
  }

  /// Throws an error of this kind if there are rules, but none applies to any of the names: a default would make all of
  /// them whole copies. Reports names that differ from the rules' by a prefix. `names`: as the layout's patterns use
  /// them, renamed.
  void check_any(const std::vector<std::string>& names, Kind kind) const;

  /// Returns warnings about rules that apply to no name; with the nearest names of the checkpoint, if there are any. A
  /// rule that matches only members of buckets is reported only if its keys have no effect.
  std::vector<std::string> unused(const std::vector<std::string>& names) const;

 private:
  bool is_idle(std::size_t rule) const;
  std::string idle_keys(std::size_t rule) const;

  const Layout& layout_;
  std::vector<bool> used_;
  std::vector<bool> of_members_;
};

}  // namespace ckpt
