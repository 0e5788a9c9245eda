// Any text is the metadata.json of MindFormers: its pieces lie in their tensors and its files are those of the
// directory, or there is one error of the project's own type.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "frameworks/mindformers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto metadata = ckpt::parse_mindformers({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!metadata.is_consistent()) std::abort();
  } catch (const ckpt::Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
