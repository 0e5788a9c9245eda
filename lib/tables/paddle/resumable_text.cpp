#include "tables/paddle/resumable_text.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "store/paddle/line_cutter.hpp"
#include "store/paddle/text_input.hpp"
#include "tables/paddle/line_sums.hpp"

namespace ckpt {

namespace {

constexpr std::size_t read_at_once = 1ULL << 20;

}  // namespace

std::optional<WrittenText> resumable_text(const std::filesystem::path& path, std::uint64_t bytes) {
  std::error_code error;
  const std::uint64_t found = std::filesystem::file_size(path, error);
  const bool is_gzip = is_gzip_name(path.native());
  if (error || found < bytes || (is_gzip && found != bytes)) return std::nullopt;
  WrittenText left{bytes, {}, {}};
  PartialSum sum;
  LineCutter lines;
  const auto add = [&](std::string_view line) {
    add_line(line, sum);
    return true;
  };
  const PosixFile file = PosixFile::open_for_reading(path);
  for (std::uint64_t at = 0; at < bytes; at += read_at_once) {
    check_interrupt();
    const std::string piece = file.text(at, std::min<std::uint64_t>(read_at_once, bytes - at));
    left.content += sum_of(std::as_bytes(std::span(piece)), at);
    if (!is_gzip) lines.feed(piece, add);
  }
  try {
    if (is_gzip) read_text(path, read_at_once, [&](std::string_view piece) { lines.feed(piece, add); });
  } catch (const Error& damaged) {
    if (damaged.kind() != Kind::input) throw;
    return std::nullopt;
  }
  if (!lines.begun().empty()) return std::nullopt;
  left.lines = sum;
  return left;
}

void truncate_to(const std::filesystem::path& path, const WrittenText& left, bool fsync) {
  const PosixFile file = PosixFile::open_for_writing(path);
  file.resize(left.bytes);
  if (fsync) file.sync();
}

}  // namespace ckpt
