#include "layout/maps/real_formula.hpp"

#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_real_text = 256;
constexpr std::size_t most_real_nesting = 32;

/// Evaluates by descent while it parses: such formulas are short, and few.
class RealParser {
 public:
  RealParser(const std::string& text, const RealFormula::Size& size) : text_(text), size_(size) {}

  double value() {
    if (text_.size() > most_real_text) fail("more than " + std::to_string(most_real_text) + " characters");
    const double found = sum();
    if (peek() != '\0') fail("'" + std::string(1, peek()) + "'");
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& found) const {
    throw Error(Kind::layout, "formula \"" + text_.substr(0, most_real_text) + "\"",
                {found + " at character " + std::to_string(at_ + 1),
                 "numbers, names of sizes, + - * /, sqrt( ), parentheses", "write for example \"1 / sqrt(d)\""});
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char sign) {
    if (peek() != sign) return false;
    ++at_;
    return true;
  }

  double sum() {
    double left = product();
    for (;;)
      if (take('+'))
        left += product();
      else if (take('-'))
        left -= product();
      else
        return left;
  }
  double product() {
    double left = factor();
    for (;;)
      if (take('*'))
        left *= factor();
      else if (take('/'))
        left /= factor();
      else
        return left;
  }
  double factor() {
    if (++nesting_ > most_real_nesting)
      fail("more than " + std::to_string(most_real_nesting) + " parentheses or signs");
    const double found = unary();
    --nesting_;
    return found;
  }
  double unary() {
    if (take('-')) return -factor();
    if (take('(')) return in_parentheses();
    const char first = peek();
    if ((first >= '0' && first <= '9') || first == '.') return number();
    const std::string name = word();
    if (name.empty()) fail(first == '\0' ? "its end" : "'" + std::string(1, first) + "'");
    if (name == "sqrt" && take('(')) return std::sqrt(in_parentheses());
    return static_cast<double>(size_(name));
  }
  double in_parentheses() {
    const double found = sum();
    if (!take(')')) fail("no )");
    return found;
  }
  double number() {
    double found = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), found);
    if (error != std::errc()) fail("no number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return found;
  }
  std::string word() {
    const std::size_t begin = at_;
    const auto is_of_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  const std::string& text_;
  const RealFormula::Size& size_;
  std::size_t at_ = 0;
  std::size_t nesting_ = 0;
};

}  // namespace

RealFormula::RealFormula(std::string_view text) : text_(text) {
  static_cast<void>(value([this](const std::string& name) {
    names_.push_back(name);
    return std::uint64_t{1};
  }));
}

double RealFormula::value(const Size& size) const {
  return RealParser(text_, size).value();
}

}  // namespace ckpt
