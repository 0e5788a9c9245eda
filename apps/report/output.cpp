#include "report/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace ckpt::cli {

Lines Lines::as_they_are(std::string text) {
  Lines lines;
  lines.text_ = std::move(text);
  return lines;
}

Lines& Lines::add(std::string_view line) {
  text_ += printable(line) + "\n";
  return *this;
}

Lines& Lines::add(const Lines& more) {
  text_ += more.text_;
  return *this;
}

void print(const Lines& lines) {
  const std::string& text = lines.text();
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) return;  // a reader that has seen enough, as head: no fault of this program or of its work
  throw system_error("standard output", "write", errno);
}

std::optional<std::size_t> output_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    std::size_t width = 0;
    const char* const end = columns + std::strlen(columns);
    const auto [rest, error] = std::from_chars(columns, end, width);
    if (error == std::errc() && rest == end && width > 0) return width;
  }
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_col == 0) return std::nullopt;  // the terminal that mpirun puts between its own output and ours
  return size.ws_col;
}

}  // namespace ckpt::cli
