// Any bytes are a program of PaddlePaddle, as protocol buffers or JSON: it has variables in the order of their names,
// or there is one error of the project's own type.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "io/posix_file.hpp"
#include "store/paddle_static/program.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ckpt;
  static const std::string path = [] {
    std::string name = "/tmp/ckpt_fuzz_XXXXXX";
    const Fd fd(mkstemp(name.data()));
    if (!fd) std::abort();
    return name;
  }();
  PosixFile::create(path).write(0, std::as_bytes(std::span(data, size)));
  try {
    const auto variables = paddle_static::read_program(path);
    if (!std::ranges::is_sorted(variables, {}, &paddle_static::Variable::name)) std::abort();
    for (const auto& each : variables) paddle_static::fits(each, {1, 2});
  } catch (const Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
