#include "paddle_files/text_left.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "paddle_files/line_sums.hpp"
#include "store/paddle/text_input.hpp"

namespace ckpt {

namespace {

constexpr std::size_t read_at_once = 1ULL << 20;

/// Sums the lines of a text that comes in pieces.
class LineSums {
 public:
  void feed(std::string_view piece) {
    const std::size_t end = piece.rfind('\n') + 1;  // npos + 1 is 0
    if (end != 0 && !begun_.empty()) {
      const std::size_t first = piece.find('\n') + 1;
      begun_ += piece.substr(0, first);
      add_lines(begun_, sum_);
      begun_.clear();
      add_lines(piece.substr(first, end - first), sum_);
    } else {
      add_lines(piece.substr(0, end), sum_);
    }
    begun_ += piece.substr(end);
  }
  std::optional<PartialSum> sum() const { return begun_.empty() ? std::optional(sum_) : std::nullopt; }

 private:
  std::string begun_;  // a line whose end has not come yet
  PartialSum sum_;
};

}  // namespace

std::optional<WrittenText> text_left(const std::filesystem::path& path, std::uint64_t bytes) {
  std::error_code error;
  const std::uint64_t found = std::filesystem::file_size(path, error);
  const bool is_gzip = is_gzip_name(path.native());
  if (error || found < bytes || (is_gzip && found != bytes)) return std::nullopt;
  WrittenText left{bytes, {}, {}};
  LineSums lines;
  const PosixFile file = PosixFile::open_for_reading(path);
  for (std::uint64_t at = 0; at < bytes; at += read_at_once) {
    check_interrupt();
    const std::string piece = file.text(at, std::min<std::uint64_t>(read_at_once, bytes - at));
    left.content += sum_of(std::as_bytes(std::span(piece)), at);
    if (!is_gzip) lines.feed(piece);
  }
  try {
    if (is_gzip) read_text(path, read_at_once, [&](std::string_view piece) { lines.feed(piece); });
  } catch (const Error& damaged) {
    if (damaged.kind() != Kind::input) throw;
    return std::nullopt;
  }
  const auto sum = lines.sum();
  if (!sum) return std::nullopt;
  left.lines = *sum;
  return left;
}

void keep_left(const std::filesystem::path& path, const WrittenText& left, bool fsync) {
  const PosixFile file = PosixFile::open_for_writing(path);
  file.resize(left.bytes);
  if (fsync) file.sync();
}

}  // namespace ckpt
