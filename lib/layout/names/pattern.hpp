#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// The text that each `{x}` of a pattern matched.
using Captures = std::map<std::string, std::string>;

/// A glob over a whole name: `*` matches any run of characters (even none, also `/`), `?` one character (UTF-8),
/// `[0-9a-f]` a set, `[!0-9]` its complement, and `{x}` the same as `*` but captured; a repeated capture must match the
/// same text each time. Shorter matches of an earlier `*` or capture are tried first. A set of one makes a special
/// character literal: `[*]`, `[{]`, `[[]`. Matching takes time in proportion to pattern × name; only a repeated capture
/// may need search, which is bounded.
class Pattern {
 public:
  Pattern() = default;

  /// Throws layout if the text is not well formed (an open set or capture, an empty capture name) or absurdly long.
  /// Captures in `numeric` match one or more digits (the counting `{i}` of `indices`).
  explicit Pattern(std::string text, const std::set<std::string>& numeric = {});

  const std::string& text() const noexcept { return text_; }
  /// Compares the texts: patterns in the same place have the same numeric captures.
  friend bool operator==(const Pattern& a, const Pattern& b) noexcept { return a.text_ == b.text_; }
  const std::set<std::string>& captures() const noexcept { return captures_; }

  /// Returns whether it has a wildcard that is not captured, so that captures alone do not determine a name.
  bool has_wildcard() const noexcept { return has_wildcard_; }

  /// Returns whether it matches only one name: it has neither wildcards nor captures.
  bool is_plain() const noexcept { return !has_wildcard_ && captures_.empty(); }

  /// Its literal text: the beginning and the end of all names that it matches (both may be empty), and texts that they
  /// contain between.
  struct Pieces {
    std::string_view first;
    std::string_view last;
    std::vector<std::string_view> inner;
  };
  Pieces pieces() const;

  /// Returns how often the capture occurs in the pattern.
  std::size_t occurrences(const std::string& capture) const noexcept;

  /// Returns whether a capture occurs twice, so that matching needs search.
  bool has_repeats() const noexcept { return has_repeats_; }

  /// These three throw layout if a repeated capture, or an absurdly long name, would take too long.
  bool matches(std::string_view name) const;
  std::optional<Captures> match(std::string_view name) const;

  /// Matches a name and replaces the (first) text of capture `name` by the result of `value(text)`. Returns nothing if
  /// the name does not match.
  struct CaptureMatch {
    std::string text;      ///< the captured text
    std::size_t position;  ///< its position in the name
  };
  std::optional<CaptureMatch> find(std::string_view name, const std::string& capture) const;

  /// Returns the name with the captures filled in. The pattern must have no wildcard, and `values` must contain each of
  /// its captures.
  std::string fill(const Captures& values) const;

 private:
  struct Token {
    enum class Kind { literal, one, any, set, capture } kind;
    std::string text = {};       ///< literal text, or a capture's name
    std::u32string ranges = {};  ///< a set's members: first and last code point of each range
    bool negated = false;
    bool numeric = false;
    std::size_t first = 0;  ///< the first token that captures the same name
  };
  struct Parser;
  struct Matcher;

  bool matches_without_captures(std::string_view name) const;

  std::string text_;
  std::vector<Token> tokens_;
  std::set<std::string> captures_;
  bool has_wildcard_ = false;
  bool has_repeats_ = false;
};

}  // namespace ckpt
