#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paddle_text/accessor.hpp"
#include "paddle_text/line_scan.hpp"

namespace ckpt {

/// What a line of Paddle's text, "key number number …\n", comes to.
struct CheckedLine {
  std::uint64_t key = 0;
  std::uint64_t dims = 0;  ///< of its tail; 0: it has none
};

/// Digits of a number that Paddle writes, and that no f32 loses anything with.
inline constexpr int paddle_digits = 6;
inline constexpr int exact_digits = 9;

/// Checks a line, without its newline. Throws input unless it is a key and numbers with one blank before each, as many
/// as a row of these fields has: decimal numbers that an f32 has room for, ±inf or ±nan.
CheckedLine check_line(std::string_view line, const RowFields& fields);

/// The key of a line that has been checked; nothing where it is none after all.
std::optional<std::uint64_t> key_of(std::string_view line) noexcept;
/// Numbers of such a line from the `first` on, rounded to the nearest f32, as many as there is room for. False where
/// there are fewer.
bool read_numbers(std::string_view line, std::uint64_t first, std::span<float> numbers) noexcept;

/// Appends a row and its newline. With `paddle_digits` these are the bytes that Paddle writes (C++'s ostream).
void append_line(std::string& text, std::uint64_t key, std::span<const float> values, int digits);

/// Which shard a file holds, of how many.
struct ShardOf {
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
};

/// Reads a shard's text piece by piece, as it comes from a file or is inflated. What it keeps between two pieces is one
/// line. Throws input, naming the line, where Paddle loads less than the file has, or something else: a blank line ends
/// a shard there, and nobody finds a key outside its shard again.
class ShardReader {
 public:
  using Sink = std::function<void(std::string_view line, const CheckedLine& row)>;  ///< the line with its newline

  ShardReader(const RowFields& fields, ShardOf shard) : fields_(fields), shard_(shard) {}

  void feed(std::string_view piece, const Sink& sink);
  /// At the end of the file. Throws input where it ends within a line.
  void finish() const;
  std::uint64_t lines() const noexcept { return lines_; }

 private:
  std::size_t take_lines(std::string_view text, const Sink& sink);
  void take(std::string_view line, const ScannedLine& scanned, const Sink& sink);
  void check_length(std::size_t bytes) const;

  const RowFields& fields_;
  ShardOf shard_;
  std::uint64_t lines_ = 0;
  std::string begun_;  // of a line whose end has not come yet
  std::vector<ScannedLine> scanned_;
};

}  // namespace ckpt
