#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>

namespace ckpt {

/// What the name of a parameter's state has before and behind the parameter's own: "exp_avg." and "".
struct Affix {
  std::string before;
  std::string behind;

  friend auto operator<=>(const Affix&, const Affix&) = default;

  /// The parameter's name, or nothing where the name has not both.
  std::optional<std::string> without(const std::string& name) const;
};

/// The fewest words (of at most 4 before and 2 behind) without which a name is another's, for which `is_name` is asked.
std::optional<Affix> affix_of(const std::string& name, const std::function<bool(const std::string&)>& is_name);

}  // namespace ckpt
