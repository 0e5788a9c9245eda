#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// A condition on the fields of a row, as a user writes it: "show - click >= 1.5 and not unseen_days > 16". It consists
/// of fields, numbers, + - * /, comparisons, and, or, not, parentheses; a name with characters other than letters,
/// digits, _ and . is in double quotes.
class RowCondition {
 public:
  enum class Operation : std::uint8_t {
    number,
    field,
    negate,
    add,
    subtract,
    multiply,
    divide,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    unequal,
    both,
    either
  };
  /// One step in postfix order. There is no `not`: its operand is inverted instead, so that a comparison with NaN is
  /// never true.
  struct Step {
    Operation operation = Operation::number;
    double number = 0;
    std::size_t field = 0;  ///< index into fields()
  };

  /// `words`: names that stand for whole conditions of fields. Throws usage, with the position in the text.
  explicit RowCondition(std::string_view text, const std::map<std::string, std::string>& words = {});

  /// Returns the text as given, with words replaced by their conditions.
  const std::string& text() const noexcept { return text_; }
  const std::vector<std::string>& fields() const noexcept { return fields_; }
  const std::vector<Step>& steps() const noexcept { return steps_; }

 private:
  friend class ConditionParser;

  std::string text_;
  std::vector<std::string> fields_;
  std::vector<Step> steps_;
};

}  // namespace ckpt
