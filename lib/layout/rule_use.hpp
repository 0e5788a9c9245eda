#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "layout/naming.hpp"

namespace ckpt {

/// "parameter 'w' (a.json, rule \"*.w\")". `rule`: as Decision has it.
std::string describe(const Layout& layout, const std::string& name, std::optional<std::size_t> rule);
std::string describe_member(const Layout& layout, const std::string& name, const Bucket& bucket);

/// Throws an error of this kind that lists, in groups, the parameters that no rule matches.
[[noreturn]] void refuse_unmatched(const Layout& layout, const std::vector<std::string>& names, Kind kind);

/// Records which rules of a layout decide for some parameter, directly or through `like`.
class RuleUse {
 public:
  /// `layout` must outlive it.
  explicit RuleUse(const Layout& layout)
      : layout_(layout), used_(layout.parameters.size(), false), of_members_(layout.parameters.size(), false) {}

  void add(const Decision& decision);
  void add(std::size_t rule) { used_[rule] = true; }
  /// Adds what is decided for a bucket's member: the rule may say what it `equals`, and nothing else.
  void add_member(const Decision& decision) {
    if (decision.rule) of_members_[*decision.rule] = true;
  }

  /// Throws an error of this kind where there are rules, and none decides for any of the names: a default then makes
  /// all of them whole copies. Names that differ from the rules' by a prefix are told of. `names`: those of the
  /// layout's patterns, renamed.
  void check_any(const std::vector<std::string>& names, Kind kind) const;

  /// The rules that decide for none, as warnings; with names where one of the checkpoint's is nearly matched. Of those
  /// that match members of buckets only those are told of whose keys do nothing.
  std::vector<std::string> unused(const std::vector<std::string>& names) const;

 private:
  bool is_idle(std::size_t rule) const;
  std::string idle_keys(std::size_t rule) const;

  const Layout& layout_;
  std::vector<bool> used_;
  std::vector<bool> of_members_;
};

}  // namespace ckpt
