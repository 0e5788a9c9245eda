#include "layout/names/pattern.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "layout/names/characters.hpp"

namespace ckpt {

namespace {

constexpr std::size_t max_pattern_bytes = 4096;
constexpr std::size_t max_open_tokens = 128;
/// Limits for one match, in cells of the table and in steps of the search: milliseconds each.
constexpr std::size_t max_table_cells = std::size_t{1} << 26;
constexpr std::size_t max_search_steps = std::size_t{1} << 20;
constexpr std::size_t none = static_cast<std::size_t>(-1);

bool is_capture_character(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

/// Splits the pattern's text into tokens.
struct Pattern::Parser {
  Pattern& pattern;
  std::string_view text;
  const std::set<std::string>& numeric;
  std::size_t at = 0;

  [[noreturn]] void fail(const std::string& what, const char* expected, const char* remedy) const {
    throw Error(Kind::layout, "",
                {"found " + what + " in the pattern \"" + std::string(text) + "\"", expected, remedy});
  }

  void run() {
    while (at < text.size()) {
      switch (text[at]) {
        case '*':
          wildcard(Token::Kind::any);
          break;
        case '?':
          wildcard(Token::Kind::one);
          break;
        case '[':
          set();
          break;
        case '{':
          capture();
          break;
        default:
          literal(text.substr(at++, 1));
          break;
      }
    }
  }

  void literal(std::string_view more) {
    auto& tokens = pattern.tokens_;
    if (tokens.empty() || tokens.back().kind != Token::Kind::literal) tokens.push_back({Token::Kind::literal});
    tokens.back().text += more;
  }

  void wildcard(Token::Kind kind) {
    ++at;
    pattern.has_wildcard_ = true;
    const bool doubled = kind == Token::Kind::any && !pattern.tokens_.empty() && pattern.tokens_.back().kind == kind;
    if (!doubled) pattern.tokens_.push_back({kind});
  }

  char32_t member() {
    const auto character = character_at(text, at);
    at += character.bytes;
    return character.code;
  }

  bool is_range() const { return at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']'; }

  void set() {
    ++at;
    Token token{Token::Kind::set};
    token.negated = at + 1 < text.size() && text[at] == '!' && text[at + 1] != ']';
    if (token.negated) ++at;
    const std::size_t inside = at;
    while (at < text.size() && (text[at] != ']' || at == inside)) {  // a leading ] is a member
      const char32_t low = member();
      char32_t high = low;
      if (is_range()) {
        ++at;
        high = member();
        if (high < low) fail("a range that runs backwards", "its smaller end first", "");
      }
      token.ranges += {low, high};
    }
    if (at >= text.size()) fail("an open [", "a closing ]", "write [[] for the character itself");
    const auto members = text.substr(inside, at - inside);
    ++at;
    if (!token.negated && !members.empty() && character_at(text, inside).bytes == members.size())
      return literal(members);
    pattern.has_wildcard_ = true;
    pattern.tokens_.push_back(std::move(token));
  }

  void capture() {
    const std::size_t close = text.find('}', at);
    if (close == none) fail("an open {", "a closing }", "write [{] for the character itself");
    Token token{Token::Kind::capture, std::string(text.substr(at + 1, close - at - 1))};
    if (token.text.empty() || !std::all_of(token.text.begin(), token.text.end(), is_capture_character))
      fail("the capture {" + token.text + "}", "a name of letters, digits and _", "write [{] for the character");
    at = close + 1;
    auto& tokens = pattern.tokens_;
    const auto same = std::find_if(tokens.begin(), tokens.end(), [&](const Token& other) {
      return other.kind == Token::Kind::capture && other.text == token.text;
    });
    token.first = static_cast<std::size_t>(same - tokens.begin());
    token.numeric = numeric.contains(token.text);
    if (same != tokens.end()) pattern.has_repeats_ = true;
    pattern.captures_.insert(token.text);
    tokens.push_back(std::move(token));
  }
};

Pattern::Pattern(std::string text, const std::set<std::string>& numeric) : text_(std::move(text)) {
  if (text_.size() > max_pattern_bytes)
    throw Error(Kind::layout, "",
                {"found a pattern of " + std::to_string(text_.size()) + " bytes", "at most 4096", ""});
  Parser{*this, text_, numeric}.run();
  const auto open = std::count_if(tokens_.begin(), tokens_.end(),
                                  [](const Token& token) { return token.kind != Token::Kind::literal; });
  if (static_cast<std::size_t>(open) > max_open_tokens)
    throw Error(Kind::layout, "",
                {"found a pattern of " + std::to_string(open) + " wildcards and captures", "at most 128", ""});
}

Pattern::Pieces Pattern::pieces() const {
  Pieces pieces;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Token::Kind::literal) continue;
    if (i == 0) pieces.first = tokens_[i].text;
    if (i + 1 == tokens_.size()) pieces.last = tokens_[i].text;
    if (i != 0 && i + 1 != tokens_.size()) pieces.inner.emplace_back(tokens_[i].text);
  }
  return pieces;
}

std::size_t Pattern::occurrences(const std::string& capture) const noexcept {
  return static_cast<std::size_t>(std::count_if(tokens_.begin(), tokens_.end(), [&](const Token& token) {
    return token.kind == Token::Kind::capture && token.text == capture;
  }));
}

/// Matches one name. A table, filled from the end, shows what can still be matched from each token and position; then a
/// walk from the beginning takes the shortest piece from which the rest can be matched.
struct Pattern::Matcher {
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  const Pattern& pattern;
  std::string_view name;
  std::vector<char> table = {};
  std::vector<Span> spans = {};
  std::size_t steps = 0;

  static bool is_run(const Token& token) noexcept {
    return token.kind == Token::Kind::any || token.kind == Token::Kind::capture;
  }

  std::size_t next(std::size_t at) const noexcept { return at + character_at(name, at).bytes; }

  /// Returns the end of a literal, a `?` or a set that starts at `at`, or none.
  std::size_t fixed_end(const Token& token, std::size_t at) const noexcept {
    if (token.kind == Token::Kind::literal)
      return name.substr(at).starts_with(token.text) ? at + token.text.size() : none;
    if (at >= name.size()) return none;
    const auto character = character_at(name, at);
    if (token.kind == Token::Kind::one) return at + character.bytes;
    bool inside = false;
    for (std::size_t i = 0; i < token.ranges.size() && !inside; i += 2)
      inside = token.ranges[i] <= character.code && character.code <= token.ranges[i + 1];
    return inside != token.negated ? at + character.bytes : none;
  }

  char& reach(std::size_t token, std::size_t at) { return table[token * (name.size() + 1) + at]; }

  bool can_match(std::size_t index, std::size_t at) {
    const Token& token = pattern.tokens_[index];
    if (!is_run(token)) {
      const std::size_t end = fixed_end(token, at);
      return end != none && reach(index + 1, end) != 0;
    }
    if (token.numeric)
      return at < name.size() && is_digit(name[at]) && (reach(index + 1, at + 1) != 0 || reach(index, at + 1) != 0);
    return reach(index + 1, at) != 0 || (at < name.size() && reach(index, next(at)) != 0);
  }

  void fill_table() {
    const std::size_t tokens = pattern.tokens_.size();
    if ((name.size() + 1) > max_table_cells / (tokens + 1))
      throw Error(Kind::layout, pattern.text_,
                  {"a name of " + std::to_string(name.size()) + " bytes is too long for it", "", ""});
    table.assign((tokens + 1) * (name.size() + 1), 0);
    reach(tokens, name.size()) = 1;
    for (std::size_t index = tokens; index-- > 0;)
      for (std::size_t at = name.size() + 1; at-- > 0;) reach(index, at) = can_match(index, at) ? 1 : 0;
  }

  void count_step() {
    if (++steps > max_search_steps)
      throw Error(Kind::layout, pattern.text_,
                  {"too many ways to match the name \"" + std::string(name.substr(0, 200)) + "\"", "",
                   "repeat fewer captures in one pattern"});
  }

  /// Finds the spans of the tokens from `index` on, which start at `at`. Without a repeated capture the first try
  /// succeeds.
  bool walk(std::size_t index, std::size_t at) {
    if (reach(index, at) == 0) return false;
    if (index == pattern.tokens_.size()) return true;
    const Token& token = pattern.tokens_[index];
    spans[index] = {at, at};
    if (!is_run(token)) return walk(index + 1, spans[index].end = fixed_end(token, at));
    if (token.kind == Token::Kind::capture && token.first < index) {
      const auto same = spans[token.first];
      const auto text = name.substr(same.begin, same.end - same.begin);
      return name.substr(at).starts_with(text) && walk(index + 1, spans[index].end = at + text.size());
    }
    for (std::size_t end = token.numeric ? at + 1 : at;; end = next(end)) {
      if (pattern.has_repeats_) count_step();
      spans[index].end = end;
      if (walk(index + 1, end)) return true;
      if (end >= name.size() || (token.numeric && !is_digit(name[end]))) return false;
    }
  }

  bool run() {
    fill_table();
    spans.resize(pattern.tokens_.size());
    return walk(0, 0);
  }
};

/// The well-known glob algorithm with a single backtracking point: a later `*` never requires moving an earlier one.
bool Pattern::matches_without_captures(std::string_view name) const {
  const Matcher matcher{*this, name};
  std::size_t index = 0;
  std::size_t at = 0;
  std::size_t star = none;
  std::size_t star_at = 0;
  while (index < tokens_.size() || at < name.size()) {
    if (index < tokens_.size() && tokens_[index].kind == Token::Kind::any) {
      star = index++;
      star_at = at;
      continue;
    }
    const std::size_t end = index < tokens_.size() ? matcher.fixed_end(tokens_[index], at) : none;
    if (end != none) {
      ++index;
      at = end;
    } else if (star != none && star_at < name.size()) {
      at = star_at = matcher.next(star_at);
      index = star + 1;
    } else {
      return false;
    }
  }
  return true;
}

bool Pattern::matches(std::string_view name) const {
  if (captures_.empty()) return matches_without_captures(name);
  return Matcher{*this, name}.run();
}

std::optional<Captures> Pattern::match(std::string_view name) const {
  if (captures_.empty()) return matches_without_captures(name) ? std::optional<Captures>(std::in_place) : std::nullopt;
  Matcher matcher{*this, name};
  if (!matcher.run()) return std::nullopt;
  Captures captures;
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    if (tokens_[i].kind == Token::Kind::capture)
      captures.try_emplace(tokens_[i].text,
                           name.substr(matcher.spans[i].begin, matcher.spans[i].end - matcher.spans[i].begin));
  return captures;
}

std::optional<Pattern::CaptureMatch> Pattern::find(std::string_view name, const std::string& capture) const {
  Matcher matcher{*this, name};
  if (!captures_.contains(capture) || !matcher.run()) return std::nullopt;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto& span = matcher.spans[i];
    if (tokens_[i].kind == Token::Kind::capture && tokens_[i].text == capture)
      return CaptureMatch{std::string(name.substr(span.begin, span.end - span.begin)), span.begin};
  }
  return std::nullopt;
}

std::string Pattern::fill(const Captures& values) const {
  std::string name;
  for (const auto& token : tokens_) {
    const auto value = token.kind == Token::Kind::capture ? values.find(token.text) : values.end();
    if (token.kind == Token::Kind::literal) {
      name += token.text;
    } else if (value != values.end()) {
      name += value->second;
    } else {
      throw Error(Kind::layout, text_, {"no name can be made from this pattern", "every wildcard to be captured", ""});
    }
  }
  return name;
}

}  // namespace ckpt
