#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// A formula whose value is a real number: numbers, names of sizes, + - * /, sqrt( ), parentheses: "1 / sqrt(d)".
class RealFormula {
 public:
  RealFormula() = default;
  /// Throws layout, with the position in the text.
  explicit RealFormula(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  const std::vector<std::string>& names() const noexcept { return names_; }

  using Size = std::function<std::uint64_t(const std::string& name)>;
  /// Returns the value; it may be infinite or NaN. Throws what `size` throws.
  double value(const Size& size) const;

 private:
  std::string text_;
  std::vector<std::string> names_;
};

}  // namespace ckpt
