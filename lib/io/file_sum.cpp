#include "io/file_sum.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "base/interrupt.hpp"

namespace ckpt {

PartialSum sum_of_file(const PosixFile& file, std::uint64_t bytes) {
  constexpr std::uint64_t at_once = 1ULL << 20;
  PartialSum sum;
  for (std::uint64_t at = 0; at < bytes; at += at_once) {
    check_interrupt();
    const std::string piece = file.text(at, std::min(at_once, bytes - at));
    sum += sum_of(std::as_bytes(std::span(piece)), at);
  }
  return sum;
}

}  // namespace ckpt
