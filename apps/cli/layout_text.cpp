#include "cli/layout_text.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/text.hpp"

namespace ckpt::cli {

namespace {

/// Far above any layout; what is larger is a checkpoint given by mistake, which must not be read into memory.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

struct Closer {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdin) std::fclose(file);
  }
};

Error unreadable(const std::string& origin) {
  const Error reason = system_error(origin, "layout cannot be read", errno);
  return {Kind::layout, reason.what()};
}

std::string read_text(const std::string& file, const std::string& origin) {
  const std::unique_ptr<std::FILE, Closer> stream(file == "-" ? stdin : std::fopen(file.c_str(), "rb"));
  if (stream == nullptr) throw unreadable(origin);
  std::string text;
  std::array<char, 65536> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), stream.get())) {
    text.append(block.data(), count);
    if (text.size() > most_bytes)
      throw Error(Kind::layout, origin,
                  {"larger than " + format_bytes(most_bytes), "expected a layout, which is JSON text",
                   "were the arguments given in another order?"});
  }
  check_interrupt();
  if (std::ferror(stream.get()) != 0) throw unreadable(origin);
  return text;
}

}  // namespace

Layout read_layout(const std::string& file, Communicator& processes) {
  const std::string origin = file == "-" ? "standard input" : file;
  std::string text;
  agree(processes, [&] {
    if (processes.rank() == 0) text = read_text(file, origin);
  });
  text = processes.broadcast(text, 0);
  Layout layout;
  agree(processes, [&] { layout = parse_layout(text, origin); });
  return layout;
}

}  // namespace ckpt::cli
