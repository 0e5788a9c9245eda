#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ckpt {

/// The result of a single scan of a line's bytes.
struct ScannedLine {
  std::uint32_t bytes = 0;    ///< including its newline
  std::uint32_t numbers = 0;  ///< numbers after its key, if it is plain
  /// The key consists only of digits, and single blanks precede the numbers, which have the form that Paddle writes in
  /// nearly all cases, and are certain to fit into f32. Other lines may be valid, too.
  bool is_plain = false;
};

/// Finds the complete lines of a text of less than 4 GiB, and appends them to `lines`; returns their total size.
using LineScanner = std::size_t (*)(std::string_view text, std::vector<ScannedLine>& lines);

/// Returns those that this processor can run, fastest first. All give the same results.
std::span<const LineScanner> line_scanners();

}  // namespace ckpt
