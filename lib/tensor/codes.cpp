#include "tensor/codes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

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

CodeTable::CodeTable(CodePacking packing, const CodeNumbers& numbers) : packing_(packing), numbers_(numbers) {
  if (packing == CodePacking::bytes) return;
  for (std::size_t byte = 0; byte < pairs_.size(); ++byte) {
    pairs_[byte] = {numbers[byte & 15U], numbers[byte >> 4U]};
    if (packing == CodePacking::high_half_first) std::swap(pairs_[byte][0], pairs_[byte][1]);
  }
}

void CodeTable::look_up(std::span<const std::byte> codes, std::uint64_t first, std::span<float> out) const noexcept {
  const auto byte = [&](std::uint64_t at) { return std::to_integer<std::size_t>(codes[at]); };
  if (packing_ == CodePacking::bytes) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = numbers_[byte(first + i)];
    return;
  }
  std::size_t done = 0;
  if (first % 2 == 1 && !out.empty()) out[done++] = pairs_[byte(first / 2)][1];
  for (; done + 2 <= out.size(); done += 2)
    std::memcpy(&out[done], &pairs_[byte((first + done) / 2)], sizeof pairs_[0]);
  if (done < out.size()) out[done] = pairs_[byte((first + done) / 2)][0];
}

float e8m0_number(std::byte code) noexcept {
  const auto exponent = std::to_integer<std::uint32_t>(code);
  return std::bit_cast<float>(exponent == 0 ? 1U << 22 : exponent << 23);  // 2^-127 is subnormal
}

void scale_blocks(std::span<float> numbers, const BlockScales& scales) noexcept {
  std::uint64_t end = scales.block - scales.first;
  for (std::uint64_t begin = 0, i = 0; begin < numbers.size(); begin = end, end += scales.block, ++i)
    for (float& number : numbers.subspan(begin, std::min(end, numbers.size()) - begin)) number *= scales.scales[i];
}

}  // namespace ckpt
