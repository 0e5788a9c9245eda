#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// A value of a formula: a field of config.json, or what is reckoned from some.
struct FormulaValue {
  enum class Kind { nothing, whole, text, list, other };
  Kind kind = Kind::nothing;
  std::int64_t whole = 0;  ///< also a truth value: 0 or 1
  std::string text = {};
  std::vector<FormulaValue> list = {};
  bool is_true = false;  ///< as a condition; for `other` (a fraction, an object)

  static FormulaValue of(std::int64_t number);
  static FormulaValue of(bool truth) { return of(std::int64_t{truth}); }
  friend bool operator==(const FormulaValue& a, const FormulaValue& b);
};

/// A formula of a map of names: whole numbers, 'texts', names, + - * / %, comparisons, in, and, or, not,
/// parentheses, list[index].
class Formula {
 public:
  Formula() = default;
  /// Throws layout, with the position in the text.
  explicit Formula(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// Returns a name's value; an absent one, for a name that is not known yet.
  using Lookup = std::function<std::optional<FormulaValue>(const std::string& name)>;
  /// Returns the value, or nothing if it depends on a name that is not known yet. What has no value (a field that is
  /// absent or null, an index beyond a list) makes every comparison false. Throws layout if arithmetic is not exact.
  std::optional<FormulaValue> value(const Lookup& lookup) const;

 private:
  friend class FormulaParser;
  enum class Operation : std::uint8_t {
    constant,
    name,
    negate,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    unequal,
    in,
    item,
    both,
    either,
    invert
  };
  struct Step {
    Operation operation = Operation::constant;
    std::size_t left = 0;  ///< of an operation: an earlier step; of a name or constant: its number
    std::size_t right = 0;
  };

  std::optional<FormulaValue> value_of(std::size_t step, const Lookup& lookup) const;
  FormulaValue reckoned(Operation operation, const FormulaValue& a, const FormulaValue& b) const;

  std::string text_;
  std::vector<std::string> names_;
  std::vector<FormulaValue> constants_;
  std::vector<Step> steps_;  ///< the last is the whole
};

}  // namespace ckpt
