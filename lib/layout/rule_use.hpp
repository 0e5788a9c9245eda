#pragma once

#include <string>
#include <vector>

#include "layout/naming.hpp"

namespace ckpt {

/// "parameter 'w' (a.json, rule \"*.w\")".
std::string describe(const Layout& layout, const std::string& name, const Decision& decision);
std::string describe_member(const Layout& layout, const std::string& name, const Bucket& bucket);

/// Throws an error of this kind that lists, in groups, the parameters that no rule matches.
[[noreturn]] void refuse_unmatched(const Layout& layout, const std::vector<std::string>& names, Kind kind);

/// Which rules of a layout decide for some parameter, by themselves or borrowed by `like`.
class RuleUse {
 public:
  /// `layout` must outlive it.
  explicit RuleUse(const Layout& layout) : layout_(layout), used_(layout.parameters.size(), false) {}

  void add(const Decision& decision);
  void add(std::size_t rule) { used_[rule] = true; }

  /// The rules that decide for none, as warnings; with names where one of the checkpoint's is nearly matched.
  std::vector<std::string> unused(const std::vector<std::string>& names) const;

 private:
  const Layout& layout_;
  std::vector<bool> used_;
};

}  // namespace ckpt
