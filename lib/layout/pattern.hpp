#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

/// What a pattern's `{x}` matched.
using Captures = std::map<std::string, std::string>;

/// A glob over a whole name: `*` any run of characters (also none, also `/`), `?` one character (UTF-8), `[0-9a-f]` a
/// set,
/// `[!0-9]` what is not in it, `{x}` like `*` but captured; the same capture twice must match the same text. Shorter
/// matches of an earlier `*` or capture are tried first. A set of one makes a special character literal: `[*]`, `[{]`,
/// `[[]`. Matching takes time in proportion to pattern × name; only a capture that is repeated may need search, which
/// is bounded.
class Pattern {
 public:
  Pattern() = default;

  /// Throws layout when the text is not well formed (an open set or capture, an empty capture name) or absurdly long.
  /// Captures in `numeric` match digits only, one at least (the counting `{i}` of `indices`).
  explicit Pattern(std::string text, const std::set<std::string>& numeric = {});

  const std::string& text() const noexcept { return text_; }
  const std::set<std::string>& captures() const noexcept { return captures_; }

  /// Whether it holds a wildcard that is not captured (so that a name cannot be made from captures alone).
  bool has_wildcard() const noexcept { return has_wildcard_; }

  /// Whether it matches one name only: neither wildcards nor captures.
  bool is_plain() const noexcept { return !has_wildcard_ && captures_.empty(); }

  /// Literal text of it: what all names that it matches begin with and end with (both may be empty), and what they
  /// hold between.
  struct Pieces {
    std::string_view first;
    std::string_view last;
    std::vector<std::string_view> inner;
  };
  Pieces pieces() const;

  /// How often the capture stands in the pattern.
  std::size_t occurrences(const std::string& capture) const noexcept;

  /// Whether a capture stands twice, so that matching needs search.
  bool has_repeats() const noexcept { return has_repeats_; }

  /// These three throw layout where a repeated capture, or an absurdly long name, would take too long.
  bool matches(std::string_view name) const;
  std::optional<Captures> match(std::string_view name) const;

  /// Matches and replaces the (first) text of capture `name` by what `value(text)` gives. Nothing when it doesn't
  /// match.
  struct Found {
    std::string text;      ///< the captured text
    std::size_t position;  ///< where in the name it stands
  };
  std::optional<Found> find(std::string_view name, const std::string& capture) const;

  /// The name with the captures filled in. The pattern must have no wildcard and `values` each of its captures.
  std::string fill(const Captures& values) const;

 private:
  struct Token {
    enum class Kind { literal, one, any, set, capture } kind;
    std::string text = {};       ///< literal text or capture's name
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
