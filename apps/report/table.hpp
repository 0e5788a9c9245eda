#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/output.hpp"

namespace ckpt::cli {

/// Text in aligned columns. The first column holds names, which are never broken: people copy them, and search for
/// them.
class Table {
 public:
  struct Column {
    std::string heading;
    enum class Kind { text, number, flexible } kind = Kind::text;  ///< flexible: may continue on further lines
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Cells are made printable, so that each stays in its place.
  void add(std::vector<std::string> cells);

  /// Without a width, each row is one line. With one, a cell that does not fit continues on further lines of its
  /// column. If that is not enough, names get lines of their own, with the rest of their rows indented below; words
  /// are broken only where they do not fit then. Nothing is left out. Only a name can make a line longer than `width`.
  Lines lines(std::optional<std::size_t> width) const;

 private:
  using Widths = std::vector<std::size_t>;  // of each column; 0 for a first one that has lines of its own

  std::vector<std::string> headings() const;
  Widths natural_widths() const;
  Widths least_widths(bool may_break_words) const;
  Widths narrowed(std::size_t limit, bool has_names_below, bool may_break_words) const;
  Widths widths_within(std::optional<std::size_t> limit) const;
  std::string row_text(const std::vector<std::string>& cells, const Widths& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The number of characters in UTF-8 text.
std::size_t length_of(const std::string& text);

/// Text of at most `most` characters: "…" replaces the middle of a longer one.
std::string shortened(const std::string& text, std::size_t most);

/// Breaks text into lines of at most `width` characters (above 0), after spaces, and within longer words. Returns at
/// least one line.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

}  // namespace ckpt::cli
