// Any bytes are what says which pieces a directory's files have: Paddle's .metadata, a pickle, or else MindFormers'
// metadata.json. Its pieces lie in their tensors and its files are those of the directory, or there is one error of the
// project's own type.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "frameworks/mindformers.hpp"
#include "frameworks/paddle_metadata.hpp"

namespace {

using namespace ckpt;

DistMetadata parsed(const std::string& bytes) {
  if (!bytes.starts_with('\x80')) return parse_mindformers(bytes, "fuzz");
  std::size_t at = 0;
  const auto pickle = torch::Pickle::read(bytes, at);
  return pickle ? parse_paddle_metadata(*pickle) : DistMetadata{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    if (!parsed({reinterpret_cast<const char*>(data), size}).is_consistent()) std::abort();
  } catch (const Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
