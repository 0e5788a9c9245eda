#include "common/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt::cli {

void print(const std::string& unchecked) {
  const std::string text = printable(unchecked);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw system_error("standard output", "write", errno);
}

std::optional<std::size_t> output_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_col == 0) return std::nullopt;  // the terminal that mpirun puts between its own output and ours
  return size.ws_col;
}

}  // namespace ckpt::cli
