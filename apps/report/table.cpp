#include "report/table.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/printable.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t least_width = 12;  ///< that a flexible column is shortened to

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

void Table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::optional<std::size_t> limit) const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(length_of(column.heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length_of(row[i]));
  }
  const auto total = [&] { return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1)); };
  while (limit && total() > *limit) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i].kind != Column::Kind::flexible || widths[i] <= least_width) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = shortened(cells[i], widths[i]);
    const std::string padding(widths[i] - std::min(widths[i], length_of(cell)), ' ');
    text += columns_[i].kind == Column::Kind::number ? padding + cell : cell + padding;
    text.append(gap, ' ');
  }
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

Lines Table::lines(std::optional<std::size_t> width) const {
  const auto chosen = widths(width);
  std::vector<std::string> headings;
  for (const auto& column : columns_) headings.push_back(column.heading);
  std::string text = line(headings, chosen);
  for (const auto& row : rows_) text += line(row, chosen);
  return Lines::as_they_are(std::move(text));
}

}  // namespace ckpt::cli
