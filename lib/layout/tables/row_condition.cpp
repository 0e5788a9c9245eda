#include "layout/tables/row_condition.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "layout/names/characters.hpp"

namespace ckpt {

namespace {

using Operation = RowCondition::Operation;

struct Symbol {
  std::string_view text;
  Operation operation;
  Operation turned;  ///< the negation of `operation`
};

// If one symbol begins with another, the longer one comes first.
constexpr std::array<Symbol, 6> comparisons{{{"<=", Operation::less_equal, Operation::greater},
                                             {">=", Operation::greater_equal, Operation::less},
                                             {"==", Operation::equal, Operation::unequal},
                                             {"!=", Operation::unequal, Operation::equal},
                                             {"<", Operation::less, Operation::greater_equal},
                                             {">", Operation::greater, Operation::less_equal}}};
constexpr std::array<Symbol, 2> sums{
    {{"+", Operation::add, Operation::add}, {"-", Operation::subtract, Operation::subtract}}};
constexpr std::array<Symbol, 2> products{
    {{"*", Operation::multiply, Operation::multiply}, {"/", Operation::divide, Operation::divide}}};

constexpr unsigned most_nested = 64;  // parentheses

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.';
}

bool is_keyword(std::string_view name) {
  return name == "and" || name == "or" || name == "not";
}

}  // namespace

/// A recursive-descent parser: each rule emits its steps after those of its operands.
class ConditionParser {
 public:
  ConditionParser(std::string_view text, const std::map<std::string, std::string>& words, RowCondition& to)
      : text_(text), words_(words), to_(to) {}

  void parse(bool is_negated) {
    const std::size_t begin = skip_spaces();
    need(Value::condition, disjunction(is_negated), begin);
    if (skip_spaces() != text_.size()) fail("\"and\", \"or\" or the end");
  }

  /// Returns the text with words replaced by their conditions.
  std::string written_out() const {
    std::string text(text_);
    for (auto word = used_.rbegin(); word != used_.rend(); ++word)
      text.replace(word->begin, word->size, "(" + word->condition + ")");
    return text;
  }

 private:
  enum class Value { number, condition };
  struct Use {
    std::size_t begin = 0;
    std::size_t size = 0;
    std::string condition;
  };

  // `is_negated`: emits the negation of the text (De Morgan).
  Value disjunction(bool is_negated) {
    return joined("or", is_negated ? Operation::both : Operation::either, [&] { return conjunction(is_negated); });
  }

  Value conjunction(bool is_negated) {
    return joined("and", is_negated ? Operation::either : Operation::both, [&] { return negation(is_negated); });
  }

  template <class Operand>
  Value joined(std::string_view word, Operation operation, const Operand& operand) {
    std::size_t begin = skip_spaces();
    const Value first = operand();
    const std::size_t end = at_;
    bool is_alone = true;
    while (take_word(word)) {
      if (std::exchange(is_alone, false)) need(Value::condition, first, begin, end);
      begin = skip_spaces();
      need(Value::condition, operand(), begin);
      emit(operation);
    }
    return first;
  }

  Value negation(bool is_negated) {
    bool is_turned = false;
    while (take_word("not")) {
      is_turned = true;
      is_negated = !is_negated;
    }
    const std::size_t begin = skip_spaces();
    const Value kind = comparison(is_negated);
    if (is_turned) need(Value::condition, kind, begin);
    return kind;
  }

  Value comparison(bool is_negated) {
    const std::size_t begin = skip_spaces();
    const Value left = sum(is_negated);
    const std::size_t end = at_;
    const Symbol* const symbol = take(comparisons);
    if (symbol == nullptr && text_.substr(at_).starts_with('=')) fail("one of < <= > >= == !=");
    if (symbol == nullptr) return left;
    need(Value::number, left, begin, end);
    const std::size_t right = skip_spaces();
    need(Value::number, sum(is_negated), right);
    emit(is_negated ? symbol->turned : symbol->operation);
    skip_spaces();
    if (const std::size_t next = at_; take(comparisons) != nullptr) {
      at_ = next;
      fail("one comparison at a time: join two with \"and\"");
    }
    return Value::condition;
  }

  Value sum(bool is_negated) {
    return chain(sums, [&] { return product(is_negated); });
  }

  Value product(bool is_negated) {
    return chain(products, [&] { return factor(is_negated); });
  }

  template <std::size_t Count, class Operand>
  Value chain(const std::array<Symbol, Count>& symbols, const Operand& operand) {
    std::size_t begin = skip_spaces();
    const Value first = operand();
    const std::size_t end = at_;
    bool is_alone = true;
    while (const Symbol* const symbol = take(symbols)) {
      if (std::exchange(is_alone, false)) need(Value::number, first, begin, end);
      begin = skip_spaces();
      need(Value::number, operand(), begin);
      emit(symbol->operation);
    }
    return first;
  }

  Value factor(bool is_negated) {
    bool has_sign = false;
    bool is_minus = false;
    for (skip_spaces(); at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+'); skip_spaces()) {
      has_sign = true;
      is_minus = is_minus != (text_[at_++] == '-');
    }
    const std::size_t begin = at_;
    const Value kind = primary(is_negated);
    if (has_sign) need(Value::number, kind, begin);
    if (is_minus) emit(Operation::negate);
    return kind;
  }

  Value primary(bool is_negated) {
    constexpr const char* expected = "a field, a number or \"(\"";
    if (at_ == text_.size()) fail(expected);
    const char first = text_[at_];
    if (first == '(') return parenthesised(is_negated);
    if (first == '"') return field(quoted());
    if (is_digit(first) || (first == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
    if (!is_name_character(first) || is_keyword(name_ahead())) fail(expected);
    const std::string name(name_ahead());
    if (const auto word = words_.find(name); word != words_.end()) return word_of(word->second, is_negated);
    at_ += name.size();
    return field(name);
  }

  Value parenthesised(bool is_negated) {
    const std::size_t begin = at_++;
    if (++nested_ > most_nested) fail("at most " + std::to_string(most_nested) + " parentheses in one another");
    const Value kind = disjunction(is_negated);
    if (skip_spaces() == text_.size() || text_[at_] != ')')
      fail("\")\" for the \"(\" at character " + std::to_string(begin + 1));
    ++at_;
    --nested_;
    return kind;
  }

  /// A word stands for a condition of fields, without other words.
  Value word_of(const std::string& condition, bool is_negated) {
    const std::size_t size = name_ahead().size();
    with_context("\"" + std::string(name_ahead()) + "\"",
                 [&] { ConditionParser(condition, {}, to_).parse(is_negated); });
    used_.push_back({at_, size, condition});
    at_ += size;
    return Value::condition;
  }

  Value number() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
    const std::size_t size = static_cast<std::size_t>(end - begin);
    const bool is_whole = status == std::errc{} && (end == text_.data() + text_.size() || !is_name_character(*end));
    if (!is_whole || !std::isfinite(value)) fail("a number such as 1.5 or 1e-3");
    at_ += size;
    to_.steps_.push_back({Operation::number, value, 0});
    return Value::number;
  }

  std::string quoted() {
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos || end == at_ + 1) fail("a field's name between two \"");
    std::string name(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return name;
  }

  Value field(const std::string& name) {
    const auto known = std::find(to_.fields_.begin(), to_.fields_.end(), name);
    to_.steps_.push_back({Operation::field, 0, static_cast<std::size_t>(known - to_.fields_.begin())});
    if (known == to_.fields_.end()) to_.fields_.push_back(name);
    return Value::number;
  }

  std::size_t skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    return at_;
  }

  std::string_view name_ahead() const {
    std::size_t end = at_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool take_word(std::string_view word) {
    skip_spaces();
    if (name_ahead() != word) return false;
    at_ += word.size();
    return true;
  }

  template <std::size_t Count>
  const Symbol* take(const std::array<Symbol, Count>& symbols) {
    skip_spaces();
    for (const Symbol& symbol : symbols)
      if (text_.substr(at_).starts_with(symbol.text)) {
        at_ += symbol.text.size();
        return &symbol;
      }
    return nullptr;
  }

  void emit(Operation operation) { to_.steps_.push_back({operation, 0, 0}); }

  void need(Value wanted, Value found, std::size_t begin) const { need(wanted, found, begin, at_); }

  void need(Value wanted, Value found, std::size_t begin, std::size_t end) const {
    if (wanted == found) return;
    const std::string what(text_.substr(begin, end - begin));
    throw Error(Kind::usage, "",
                {"'" + what.substr(0, what.find_last_not_of(' ') + 1) + "' at character " + std::to_string(begin + 1) +
                     (found == Value::number ? " is a number" : " is a condition"),
                 wanted == Value::number ? "a number there" : "a condition there",
                 wanted == Value::number ? "" : "compare it, for example with >= 1"});
  }

  [[noreturn]] void fail(const std::string& expected) const {
    std::string_view found = name_ahead();
    if (found.empty()) found = text_.substr(at_, 1);
    throw Error(Kind::usage, "",
                {at_ == text_.size() ? "it ends after " + std::to_string(at_) + " characters"
                                     : "'" + std::string(found) + "' at character " + std::to_string(at_ + 1),
                 expected, ""});
  }

  std::string_view text_;
  const std::map<std::string, std::string>& words_;
  RowCondition& to_;
  std::vector<Use> used_;
  std::size_t at_ = 0;
  unsigned nested_ = 0;
};

RowCondition::RowCondition(std::string_view text, const std::map<std::string, std::string>& words) {
  ConditionParser parser(text, words, *this);
  parser.parse(false);
  text_ = parser.written_out();
}

}  // namespace ckpt
