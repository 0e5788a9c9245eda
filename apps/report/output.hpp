#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt::cli {

/// What goes to standard output, line by line. A line may hold names and paths from strangers: it is made printable
/// here, once for all callers, and stays one line whatever they hold.
class Lines {
 public:
  Lines() = default;
  /// Text that is made printable already, or that is all ours (help).
  static Lines as_they_are(std::string text);

  Lines& add(std::string_view line);
  Lines& add(const Lines& more);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Writes to standard output. Throws io.
void print(const Lines& lines);

/// How wide tables may be: what the environment's COLUMNS says, else the width of the terminal that standard output is;
/// nothing where it is none, so that a pipe or file gets one line for each row.
std::optional<std::size_t> output_width();

}  // namespace ckpt::cli
