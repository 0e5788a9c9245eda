#include "store/mindspore/crc.hpp"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/interrupt.hpp"

namespace ckpt::mindspore {

namespace {

constexpr std::uint64_t crc_piece_bytes = 1U << 20;

}  // namespace

std::uint64_t crc_of(const PosixFile& file, std::uint64_t bytes) {
  std::vector<std::byte> piece(std::min(bytes, crc_piece_bytes));
  uLong sum = crc32_z(0, nullptr, 0);
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    check_interrupt();
    const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), bytes - at));
    file.read(at, part);
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(part.data()), part.size());
  }
  return sum;
}

}  // namespace ckpt::mindspore
