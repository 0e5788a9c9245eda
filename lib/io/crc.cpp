#include "io/crc.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t piece_bytes = 1U << 20;

uLong with(uLong sum, const void* bytes, std::size_t count) {
  return crc32_z(sum, static_cast<const Bytef*>(bytes), count);
}

std::string hex(std::uint32_t sum) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(8, '0');
  for (std::size_t i = text.size(); i-- > 0; sum >>= 4U) text[i] = digits[sum & 15U];
  return text;
}

}  // namespace

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(with(crc32_z(0, nullptr, 0), bytes.data(), bytes.size()));
}

std::uint32_t crc_of(const PosixFile& file, Interval bytes) {
  std::vector<std::byte> piece(std::min(bytes.size(), piece_bytes));
  uLong sum = crc32_z(0, nullptr, 0);
  for (std::uint64_t at = bytes.lo; at < bytes.hi; at += piece.size()) {
    check_interrupt();
    const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), bytes.hi - at));
    file.read(at, part);
    sum = with(sum, part.data(), part.size());
  }
  return static_cast<std::uint32_t>(sum);
}

void check_crc(std::uint32_t found, std::uint32_t written, std::string_view object, const char* kind) {
  if (found == written) return;
  throw Error(Kind::input, object,
              {"its bytes have the " + std::string(kind) + " " + hex(found),
               hex(written) + ", which was written with them", "the file is damaged: take another copy of it"});
}

}  // namespace ckpt
