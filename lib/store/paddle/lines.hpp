#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/tables/accessor.hpp"
#include "store/paddle/line_scan.hpp"

namespace ckpt {

/// The result of checking a line of Paddle's text, "key number number …\n".
struct CheckedLine {
  std::uint64_t key = 0;
  std::uint64_t dims = 0;  ///< dimension of its tail; 0: no tail
};

/// The digits of a number that Paddle writes, and the digits with which f32 loses nothing.
inline constexpr int paddle_digits = 6;
inline constexpr int exact_digits = 9;

/// Checks a line, without its newline. Throws input unless it is a key and numbers, each after one blank, as many as a
/// row of these fields has: decimal numbers that fit into an f32, ±inf or ±nan.
CheckedLine check_line(std::string_view line, const RowFields& fields);

/// Returns the key of a checked line; nothing if it turns out to have none.
std::optional<std::uint64_t> key_of(std::string_view line) noexcept;
/// Reads numbers of such a line, starting with number `first`, rounded to the nearest f32, as many as there is room
/// for. Returns false if there are fewer.
bool read_numbers(std::string_view line, std::uint64_t first, std::span<float> numbers) noexcept;

/// Appends a row and its newline. With `paddle_digits` these are the bytes that Paddle writes (C++'s ostream).
void append_line(std::string& text, std::uint64_t key, std::span<const float> values, int digits);

/// Which of how many shards a file holds.
struct ShardOf {
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
};

/// Reads a shard's text piece by piece, as it comes from a file or is inflated. Between two pieces it keeps one line.
/// Throws input, naming the line, if Paddle would load less than the file has, or something else: there, a blank line
/// ends a shard, and a key outside its shard is never found again.
class ShardReader {
 public:
  using Sink = std::function<void(std::string_view line, const CheckedLine& row)>;  ///< the line with its newline

  ShardReader(const RowFields& fields, ShardOf shard) : fields_(fields), shard_(shard) {}

  void feed(std::string_view piece, const Sink& sink);
  /// Call it at the end of the file. Throws input if the file ends within a line.
  void finish() const;
  std::uint64_t lines() const noexcept { return lines_; }

 private:
  std::size_t take_lines(std::string_view text, const Sink& sink);
  void take(std::string_view line, const ScannedLine& scanned, const Sink& sink);
  void check_length(std::size_t bytes) const;

  const RowFields& fields_;
  ShardOf shard_;
  std::uint64_t lines_ = 0;
  std::string begun_;  // the incomplete line at the end
  std::vector<ScannedLine> scanned_;
};

}  // namespace ckpt
