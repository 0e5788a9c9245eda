#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ckpt {

/// What one look at a line's bytes tells of it.
struct ScannedLine {
  std::uint32_t bytes = 0;    ///< its newline included
  std::uint32_t numbers = 0;  ///< that follow its key, where it is plain
  /// Its key is nothing but digits, and after one blank each come numbers as Paddle writes nearly all of them, and
  /// small enough to be f32 for certain. Others may be good as well.
  bool is_plain = false;
};

/// Finds the whole lines of a text, of less than 4 GiB, and appends them to `lines`; gives their bytes.
using LineScanner = std::size_t (*)(std::string_view text, std::vector<ScannedLine>& lines);

/// Those that this processor can run, the fastest first. All give the same.
std::span<const LineScanner> line_scanners();

}  // namespace ckpt
