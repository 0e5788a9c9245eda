#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>

namespace ckpt {

/// The text before and after a parameter's own name in the name of its state: "exp_avg." and "".
struct Affix {
  std::string before;
  std::string behind;

  friend auto operator<=>(const Affix&, const Affix&) = default;

  /// Returns the parameter's name, or nothing if the name lacks either part.
  std::optional<std::string> without(const std::string& name) const;
};

/// Returns the fewest words (at most 4 before and 2 after) without which a name is another's, according to `is_name`.
std::optional<Affix> affix_of(const std::string& name, const std::function<bool(const std::string&)>& is_name);

}  // namespace ckpt
