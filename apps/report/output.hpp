#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt::cli {

/// Lines for standard output. Names and paths in them may come from strangers: each line is made printable here, once
/// for all callers, and remains one line.
class Lines {
 public:
  Lines() = default;
  /// Text that is printable already, or entirely our own (help).
  static Lines as_they_are(std::string text);

  Lines& add(std::string_view line);
  Lines& add(const Lines& more);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Writes to standard output. Throws io, but not where the reader of a pipe has closed it.
void print(const Lines& lines);

/// The width for tables: the environment's COLUMNS, else the width of the terminal at standard output; nothing if that
/// is not a terminal, so that a pipe or file gets one line for each row.
std::optional<std::size_t> output_width();

}  // namespace ckpt::cli
