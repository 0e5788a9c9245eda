#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/output.hpp"

namespace ckpt::cli {

/// Text in aligned columns.
class Table {
 public:
  struct Column {
    std::string heading;
    enum class Kind { text, number, flexible } kind = Kind::text;  ///< flexible: may be shortened where space is short
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Cells are made printable, so that each stays in its place.
  void add(std::vector<std::string> cells);

  /// All of it, in lines of at most `width` characters if the flexible columns allow; without a width nothing is
  /// shortened.
  Lines lines(std::optional<std::size_t> width) const;

 private:
  std::vector<std::size_t> widths(std::optional<std::size_t> limit) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Characters of UTF-8 text.
std::size_t length_of(const std::string& text);

/// Text of at most `most` characters: what is too long loses its middle to "…".
std::string shortened(const std::string& text, std::size_t most);

}  // namespace ckpt::cli
