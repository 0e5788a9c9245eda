#include "report/table.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/printable.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t indentation = 2;   ///< of rows below their names
constexpr std::size_t least_width = 12;  ///< how narrow a flexible column with long words may become

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

/// The byte at which character `index` starts.
std::size_t byte_of(const std::string& text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (starts_character(text[at]) && index-- == 0) break;
  }
  return at;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    longest = std::max(longest, length_of(text.substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

std::size_t total(const std::vector<std::size_t>& widths) {
  const bool is_first_below = widths[0] == 0;
  const std::size_t between = gap * (widths.size() - 1);
  return std::accumulate(widths.begin(), widths.end(), is_first_below ? between - gap + indentation : between);
}

}  // namespace

std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string shortened(const std::string& text, std::size_t most) {
  const std::size_t length = length_of(text);
  if (length <= most) return text;
  if (most == 0) return "";
  const std::size_t head = most / 2;
  const std::size_t tail = most - 1 - head;
  return text.substr(0, byte_of(text, head)) + "…" + text.substr(byte_of(text, length - tail));
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string rest = text;
  while (length_of(rest) > width) {
    const std::size_t full = byte_of(rest, width);
    const std::size_t space = rest.rfind(' ', full);
    const bool at_space = space != std::string::npos && space > 0;
    lines.push_back(rest.substr(0, at_space ? space : full));
    rest.erase(0, at_space ? space + 1 : full);
  }
  lines.push_back(rest);
  return lines;
}

void Table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::headings() const {
  std::vector<std::string> headings;
  for (const auto& column : columns_) headings.push_back(column.heading);
  return headings;
}

Table::Widths Table::natural_widths() const {
  Widths widths;
  for (const auto& column : columns_) widths.push_back(length_of(column.heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length_of(row[i]));
  }
  return widths;
}

/// Every heading and cell may be broken after spaces; with `may_break_words`, flexible ones also within long words.
Table::Widths Table::least_widths(bool may_break_words) const {
  Widths widths;
  for (const auto& column : columns_) widths.push_back(longest_word(column.heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t word = longest_word(row[i]);
      const bool is_broken = may_break_words && columns_[i].kind == Column::Kind::flexible;
      widths[i] = std::max(widths[i], is_broken ? std::min(word, least_width) : word);
    }
  }
  return widths;
}

/// `has_names_below`: names have lines of their own, and all else may be narrowed; else only flexible columns.
Table::Widths Table::narrowed(std::size_t limit, bool has_names_below, bool may_break_words) const {
  const Widths least = least_widths(may_break_words);
  Widths widths = natural_widths();
  if (has_names_below) widths[0] = 0;
  while (total(widths) > limit) {
    std::size_t widest = 0;  // 0: the first column keeps its width
    for (std::size_t i = 1; i < widths.size(); ++i) {
      const bool may_narrow = has_names_below || columns_[i].kind == Column::Kind::flexible;
      if (may_narrow && widths[i] > least[i] && (widest == 0 || widths[i] > widths[widest])) widest = i;
    }
    if (widest == 0) break;
    --widths[widest];
  }
  return widths;
}

Table::Widths Table::widths_within(std::optional<std::size_t> limit) const {
  if (!limit || columns_.size() == 1) return natural_widths();
  Widths widths;
  for (const bool may_break_words : {false, true})
    for (const bool has_names_below : {false, true}) {
      widths = narrowed(*limit, has_names_below, may_break_words);
      if (total(widths) <= *limit) return widths;
    }
  return widths;
}

std::string Table::row_text(const std::vector<std::string>& cells, const Widths& widths) const {
  const bool is_below = widths[0] == 0;
  std::string text = is_below ? cells[0] + "\n" : "";
  std::vector<std::vector<std::string>> columns(cells.size());
  std::size_t height = 1;
  for (std::size_t i = is_below ? 1 : 0; i < cells.size(); ++i) {
    columns[i] = wrapped(cells[i], std::max<std::size_t>(widths[i], 1));
    height = std::max(height, columns[i].size());
  }
  for (std::size_t l = 0; l < height; ++l) {
    std::string line(is_below ? indentation : 0, ' ');
    for (std::size_t i = is_below ? 1 : 0; i < cells.size(); ++i) {
      const std::string cell = l < columns[i].size() ? columns[i][l] : "";
      const std::string padding(widths[i] - std::min(widths[i], length_of(cell)), ' ');
      line += columns_[i].kind == Column::Kind::number ? padding + cell : cell + padding;
      line.append(gap, ' ');
    }
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Lines Table::lines(std::optional<std::size_t> width) const {
  const Widths widths = widths_within(width);
  std::string text = row_text(headings(), widths);
  for (const auto& row : rows_) text += row_text(row, widths);
  return Lines::as_they_are(std::move(text));
}

}  // namespace ckpt::cli
