#include "layout/maps/formula.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "layout/names/characters.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_text = 4096;
constexpr std::size_t most_nesting = 64;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

FormulaValue FormulaValue::of(std::int64_t number) {
  FormulaValue value{.kind = Kind::whole, .whole = number};
  value.is_true = number != 0;
  return value;
}

bool operator==(const FormulaValue& a, const FormulaValue& b) {
  return a.kind == b.kind && a.kind != FormulaValue::Kind::other && a.whole == b.whole && a.text == b.text &&
         a.list == b.list;
}

/// Parses by descent; operators that bind more loosely come first.
class FormulaParser {
 public:
  FormulaParser(std::string_view text, Formula& to) : text_(text), to_(to) {
    if (text.size() > most_text) fail("more than " + std::to_string(most_text) + " characters");
    next();
    either();
    if (kind_ != Token::end) fail("'" + std::string(token_) + "'");
  }

 private:
  enum class Token { end, name, number, quoted, sign };
  using Operation = Formula::Operation;

  [[noreturn]] void fail(const std::string& found) const {
    throw Error(Kind::layout, "formula \"" + to_.text_ + "\"",
                {found + " at character " + std::to_string(at_ - token_.size() + 1),
                 "names, whole numbers, + - * / %, < <= > >= == !=, in, and, or, not, parentheses",
                 "write for example \"num_attention_heads / g\""});
  }

  void next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t begin = at_;
    const auto run = [&](Token kind, auto&& goes_on) {
      kind_ = kind;
      while (at_ < text_.size() && goes_on(text_[at_])) ++at_;
    };
    if (at_ == text_.size()) {
      kind_ = Token::end;
    } else if (is_name_start(text_[at_])) {
      run(Token::name, [](char c) { return is_name_start(c) || is_digit(c) || c == '.'; });
    } else if (is_digit(text_[at_])) {
      run(Token::number, is_digit);
    } else if (text_[at_] == '\'') {
      ++at_;
      run(Token::quoted, [](char c) { return c != '\''; });
      if (at_++ == text_.size()) fail("an open quote");
    } else {
      kind_ = Token::sign;
      ++at_;
      if (at_ < text_.size() && text_[at_] == '=' &&
          std::string_view("<>=!").find(text_[begin]) != std::string_view::npos)
        ++at_;
    }
    token_ = text_.substr(begin, at_ - begin);
  }

  bool take(std::string_view token) {
    if (kind_ == Token::end || kind_ == Token::quoted || token_ != token) return false;
    next();
    return true;
  }

  std::size_t add(Operation operation, std::size_t left, std::size_t right = 0) {
    to_.steps_.push_back({operation, left, right});
    return to_.steps_.size() - 1;
  }

  std::size_t either() {
    std::size_t left = both();
    while (take("or")) left = add(Operation::either, left, both());
    return left;
  }
  std::size_t both() {
    std::size_t left = inverted();
    while (take("and")) left = add(Operation::both, left, inverted());
    return left;
  }
  std::size_t inverted() {
    if (!take("not")) return comparison();
    const Nesting nesting(*this);
    return add(Operation::invert, inverted());
  }
  std::size_t comparison() {
    const std::size_t left = sum();
    static constexpr std::pair<std::string_view, Operation> signs[] = {
        {"<=", Operation::less_equal}, {"<", Operation::less},   {">=", Operation::greater_equal},
        {">", Operation::greater},     {"==", Operation::equal}, {"!=", Operation::unequal},
        {"in", Operation::in},
    };
    for (const auto& [sign, operation] : signs)
      if (take(sign)) return add(operation, left, sum());
    return left;
  }
  std::size_t sum() {
    std::size_t left = product();
    for (;;) {
      if (take("+"))
        left = add(Operation::add, left, product());
      else if (take("-"))
        left = add(Operation::subtract, left, product());
      else
        return left;
    }
  }
  std::size_t product() {
    std::size_t left = factor();
    for (;;) {
      if (take("*"))
        left = add(Operation::multiply, left, factor());
      else if (take("/"))
        left = add(Operation::divide, left, factor());
      else if (take("%"))
        left = add(Operation::remainder, left, factor());
      else
        return left;
    }
  }
  std::size_t factor() {
    const Nesting nesting(*this);
    if (take("-")) return add(Operation::negate, factor());
    if (take("(")) {
      const std::size_t inner = either();
      if (!take(")")) fail(kind_ == Token::end ? "an open bracket" : "'" + std::string(token_) + "'");
      return inner;
    }
    if (kind_ == Token::name) return name();
    if (kind_ == Token::number || kind_ == Token::quoted) return constant();
    fail(kind_ == Token::end ? "the end" : "'" + std::string(token_) + "'");
  }
  std::size_t name() {
    const std::string name(token_);
    for (const char* word : {"and", "or", "not", "in"})
      if (name == word) fail("'" + name + "'");
    const auto known = std::find(to_.names_.begin(), to_.names_.end(), name);
    const auto number = static_cast<std::size_t>(known - to_.names_.begin());
    if (known == to_.names_.end()) to_.names_.push_back(name);
    next();
    const std::size_t whole = add(Operation::name, number);
    if (!take("[")) return whole;
    const Nesting nesting(*this);
    const std::size_t index = either();
    if (!take("]")) fail(kind_ == Token::end ? "an open [" : "'" + std::string(token_) + "'");
    return add(Operation::item, whole, index);
  }
  std::size_t constant() {
    FormulaValue value;
    if (kind_ == Token::quoted) {
      value.kind = FormulaValue::Kind::text;
      value.text = token_.substr(1, token_.size() - 2);
      value.is_true = !value.text.empty();
    } else {
      std::int64_t number = 0;
      if (std::from_chars(token_.data(), token_.data() + token_.size(), number).ec != std::errc{})
        fail("a number of 2^63 or more");
      value = FormulaValue::of(number);
    }
    to_.constants_.push_back(std::move(value));
    next();
    return add(Operation::constant, to_.constants_.size() - 1);
  }

  /// Brackets and signs within one another, which a hostile text has thousands of.
  struct Nesting {
    explicit Nesting(FormulaParser& of) : parser(of) {
      if (++parser.nesting_ > most_nesting) parser.fail("more than " + std::to_string(most_nesting) + " nested parts");
    }
    ~Nesting() { --parser.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    FormulaParser& parser;
  };

  std::string_view text_;
  Formula& to_;
  std::size_t at_ = 0;  // behind the token
  std::string_view token_;
  Token kind_ = Token::end;
  std::size_t nesting_ = 0;
};

Formula::Formula(std::string_view text) : text_(text) {
  FormulaParser(text_, *this);
}

std::optional<FormulaValue> Formula::value(const Lookup& lookup) const {
  return steps_.empty() ? FormulaValue::of(true) : value_of(steps_.size() - 1, lookup);
}

std::optional<FormulaValue> Formula::value_of(std::size_t step, const Lookup& lookup) const {
  const auto& [operation, left, right] = steps_[step];
  if (operation == Operation::constant) return constants_[left];
  if (operation == Operation::name) return lookup(names_[left]);
  const auto a = value_of(left, lookup);
  if (operation == Operation::both || operation == Operation::either) {
    const bool decides = operation == Operation::either;
    if (a && a->is_true == decides) return FormulaValue::of(decides);
    const auto b = value_of(right, lookup);
    if (b && b->is_true == decides) return FormulaValue::of(decides);
    return a && b ? std::optional(FormulaValue::of(!decides)) : std::nullopt;
  }
  if (!a) return std::nullopt;
  if (operation == Operation::invert) return FormulaValue::of(!a->is_true);
  if (operation == Operation::negate) return reckoned(Operation::subtract, FormulaValue::of(std::int64_t{0}), *a);
  const auto b = value_of(right, lookup);
  return b ? std::optional(reckoned(operation, *a, *b)) : std::nullopt;
}

FormulaValue Formula::reckoned(Operation operation, const FormulaValue& a, const FormulaValue& b) const {
  const auto fail = [&](const std::string& found, const std::string& expected) -> void {
    throw Error(Kind::layout, "formula \"" + text_ + "\"", {found, expected, "say the size itself, with --size"});
  };
  using Value = FormulaValue::Kind;
  if (operation == Operation::in) return FormulaValue::of(std::find(b.list.begin(), b.list.end(), a) != b.list.end());
  if (operation == Operation::item) {
    const auto index = static_cast<std::uint64_t>(b.whole);
    return b.kind == Value::whole && index < a.list.size() ? a.list[index] : FormulaValue{};
  }
  const bool are_whole = a.kind == Value::whole && b.kind == Value::whole;
  const bool has_nothing = a.kind == Value::nothing || b.kind == Value::nothing;
  if (operation == Operation::equal) return FormulaValue::of(!has_nothing && a == b);
  if (operation == Operation::unequal) return FormulaValue::of(!has_nothing && !(a == b));
  if (!are_whole && has_nothing) return operation >= Operation::less ? FormulaValue::of(false) : FormulaValue{};
  if (!are_whole) fail("a value that is no whole number", "whole numbers");
  std::int64_t result = 0;
  bool overflows = false;
  switch (operation) {
    case Operation::less:
      return FormulaValue::of(a.whole < b.whole);
    case Operation::less_equal:
      return FormulaValue::of(a.whole <= b.whole);
    case Operation::greater:
      return FormulaValue::of(a.whole > b.whole);
    case Operation::greater_equal:
      return FormulaValue::of(a.whole >= b.whole);
    case Operation::add:
      overflows = __builtin_add_overflow(a.whole, b.whole, &result);
      break;
    case Operation::subtract:
      overflows = __builtin_sub_overflow(a.whole, b.whole, &result);
      break;
    case Operation::multiply:
      overflows = __builtin_mul_overflow(a.whole, b.whole, &result);
      break;
    default: {  // divide or remainder
      const std::string quotient = std::to_string(a.whole) + " / " + std::to_string(b.whole);
      if (b.whole <= 0) fail(quotient, "a divisor of 1 or more");
      if (operation == Operation::remainder) return FormulaValue::of(a.whole % b.whole);
      if (a.whole % b.whole != 0) fail(quotient, "a quotient that is whole");
      result = a.whole / b.whole;
    }
  }
  if (overflows) fail("a number of 2^63 or more", "a smaller one");
  return FormulaValue::of(result);
}

}  // namespace ckpt
