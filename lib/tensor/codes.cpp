#include "tensor/codes.hpp"

#include <algorithm>
#include <bit>

#include "tensor/number.hpp"

namespace ckpt {

namespace {

template <class NumberOf>
CodeNumbers numbers_of(const NumberOf& number_of) {
  CodeNumbers numbers{};
  for (std::size_t code = 0; code < numbers.size(); ++code) numbers[code] = number_of(static_cast<std::byte>(code));
  return numbers;
}

float small_float(ElementKind kind, std::byte code) {
  return static_cast<float>(float_value({kind, 1, false, true}, &code));
}

}  // namespace

const CodeNumbers& numbers_of_bytes(ElementKind kind) {
  static const CodeNumbers e4m3 = numbers_of([](std::byte code) { return small_float(ElementKind::f8_e4m3, code); });
  static const CodeNumbers e5m2 = numbers_of([](std::byte code) { return small_float(ElementKind::f8_e5m2, code); });
  static const CodeNumbers integers =
      numbers_of([](std::byte code) { return static_cast<float>(static_cast<std::int8_t>(code)); });
  return kind == ElementKind::f8_e4m3 ? e4m3 : kind == ElementKind::f8_e5m2 ? e5m2 : integers;
}

const CodeNumbers& numbers_of_e2m1() {
  static const CodeNumbers numbers = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  return numbers;
}

void look_up(std::span<const std::byte> codes, std::uint64_t first, CodePacking packing, const CodeNumbers& numbers,
             std::span<float> out) noexcept {
  if (packing == CodePacking::bytes) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = numbers[std::to_integer<std::size_t>(codes[first + i])];
    return;
  }
  const unsigned high = packing == CodePacking::high_half_first ? 0 : 1;  // which of a byte's codes is its upper half
  const auto one = [&](std::uint64_t code) {
    return numbers[std::to_integer<std::size_t>(codes[code / 2]) >> (code % 2 == high ? 4U : 0U) & 15U];
  };
  std::size_t done = 0;
  if (first % 2 == 1 && !out.empty()) out[done++] = one(first);
  const std::byte* byte = codes.data() + (first + done) / 2;
  const unsigned shift = high == 1 ? 0 : 4;
  for (; done + 2 <= out.size(); done += 2, ++byte) {
    const auto both = std::to_integer<std::size_t>(*byte);
    out[done] = numbers[both >> shift & 15U];
    out[done + 1] = numbers[both >> (4U - shift) & 15U];
  }
  if (done < out.size()) out[done] = one(first + done);
}

float e8m0_number(std::byte code) noexcept {
  const auto exponent = std::to_integer<std::uint32_t>(code);
  return std::bit_cast<float>(exponent == 0 ? 1U << 22 : exponent << 23);  // 2^-127 is subnormal
}

void scale_blocks(std::span<float> numbers, std::uint64_t first, std::uint64_t block,
                  std::span<const float> scales) noexcept {
  std::size_t done = 0;
  for (std::size_t i = 0; done < numbers.size(); ++i) {
    const float scale = scales[i];
    const std::size_t end = std::min<std::uint64_t>(numbers.size(), done + (block - (i == 0 ? first : 0)));
    for (; done < end; ++done) numbers[done] *= scale;
  }
}

}  // namespace ckpt
