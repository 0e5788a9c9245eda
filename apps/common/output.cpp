#include "common/output.hpp"

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

}  // namespace ckpt::cli
