#include "tensor/cast.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/rounding.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t block_count = 1024;  // elements: a block in each of its forms stays in the first-level cache
constexpr std::uint64_t largest_element = 8;

using rounding::below;
using rounding::f32_infinity;
using rounding::f32_sign;
using rounding::select;
using rounding::ToBF16;
using rounding::ToF16;

// --- one number: without branches, so that the compiler makes vectors of it
// -------------------------------------------

struct F64ToF32 {
  using From = double;
  using To = float;
  static To of(From value, std::uint32_t& overflows) {
    const auto nearest = static_cast<float>(value);
    overflows += static_cast<std::uint32_t>(std::abs(nearest) > std::numeric_limits<float>::max()) &
                 static_cast<std::uint32_t>(std::abs(value) <= std::numeric_limits<double>::max());
    return nearest;
  }
};

struct F64ToOddF32 {
  using From = double;
  using To = std::uint32_t;
  static To of(From value, std::uint32_t& /*overflows*/) {
    const auto nearest = static_cast<float>(value);
    const double found = std::abs(static_cast<double>(nearest));
    const double wanted = std::abs(value);
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    const auto below = std::uint64_t{0} - static_cast<std::uint64_t>(found < wanted);
    const auto above = std::uint64_t{0} - static_cast<std::uint64_t>(found > wanted);
    const std::uint32_t is_even = 0U - (~bits & 1U);
    return bits + (is_even & static_cast<std::uint32_t>(above - below));
  }
};

struct F32ToF64 {
  using From = float;
  using To = double;
  static To of(From value, std::uint32_t& /*overflows*/) { return value; }
};

template <class Format>
struct F32To {
  using From = std::uint32_t;
  using To = typename Format::To;
  static To of(From bits, std::uint32_t& overflows) {
    const std::uint32_t magnitude = bits & ~f32_sign;
    overflows += ~below(magnitude, Format::rounds_to_infinity) & below(magnitude, f32_infinity) & 1U;
    const std::uint32_t nan = below(f32_infinity, magnitude);
    return static_cast<To>(select(nan, Format::not_a_number(bits), Format::number(bits)));
  }
};

struct F16ToF32 {
  using From = std::uint16_t;
  using To = std::uint32_t;
  static To of(From bits, std::uint32_t& /*overflows*/) { return rounding::of_f16(bits); }
};

struct BF16ToF32 {
  using From = std::uint16_t;
  using To = std::uint32_t;
  static To of(From bits, std::uint32_t& /*overflows*/) { return std::uint32_t{bits} << 16; }
};

template <ElementKind Kind>
const std::array<float, 256>& values_of_bytes() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> found{};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto byte = static_cast<std::byte>(i);
      found[i] = static_cast<float>(float_value({Kind, 1, false, true}, &byte));
    }
    return found;
  }();
  return values;
}

// --- a block of them
// --------------------------------------------------------------------------------------------------

template <class Step>
[[gnu::always_inline]] inline std::uint64_t take_step(const std::byte* __restrict from, std::byte* __restrict to,
                                                      std::uint64_t count) {
  std::uint32_t overflows = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    typename Step::From value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    const typename Step::To result = Step::of(value, overflows);
    std::memcpy(to + i * sizeof result, &result, sizeof result);
  }
  return overflows;
}

template <class Step>
std::uint64_t step_plain(const std::byte* from, std::byte* to, std::uint64_t count) {
  return take_step<Step>(from, to, count);
}

template <ElementKind Kind>
std::uint64_t look_up(const std::byte* from, std::byte* to, std::uint64_t count) {
  const std::array<float, 256>& values = values_of_bytes<Kind>();
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy(to + i * sizeof(float), &values[std::to_integer<std::size_t>(from[i])], sizeof(float));
  return 0;
}

#if defined(__x86_64__)
template <class Step>
[[gnu::target("avx2")]] std::uint64_t step_avx2(const std::byte* from, std::byte* to, std::uint64_t count) {
  return take_step<Step>(from, to, count);
}

constexpr CastSteps avx2_steps{step_avx2<F64ToF32>,     step_avx2<F64ToOddF32>,        step_avx2<F32ToF64>,
                               step_avx2<F32To<ToF16>>, step_avx2<F32To<ToBF16>>,      step_avx2<F16ToF32>,
                               step_avx2<BF16ToF32>,    look_up<ElementKind::f8_e4m3>, look_up<ElementKind::f8_e5m2>};
#endif

constexpr CastSteps plain_steps{step_plain<F64ToF32>,     step_plain<F64ToOddF32>,       step_plain<F32ToF64>,
                                step_plain<F32To<ToF16>>, step_plain<F32To<ToBF16>>,     step_plain<F16ToF32>,
                                step_plain<BF16ToF32>,    look_up<ElementKind::f8_e4m3>, look_up<ElementKind::f8_e5m2>};

/// Returns the step from a smaller type to f32; none for f32 itself.
CastStep widening(const NumberFormat& from, const CastSteps& steps) {
  switch (from.kind) {
    case ElementKind::bfloat:
      return steps.bf16_to_f32;
    case ElementKind::f8_e4m3:
      return steps.e4m3_to_f32;
    case ElementKind::f8_e5m2:
      return steps.e5m2_to_f32;
    default:
      return from.size == 2 ? steps.f16_to_f32 : nullptr;
  }
}

template <class Word, auto Swap>
void copy_swapped_words(const std::byte* from, std::byte* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    word = Swap(word);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

/// Copies elements of 2, 4 or 8 bytes with their bytes reversed.
void copy_swapped(const std::byte* from, std::byte* to, std::uint64_t size, std::uint64_t count) {
  if (size == 2)
    return copy_swapped_words<std::uint16_t, [](std::uint16_t x) { return __builtin_bswap16(x); }>(from, to, count);
  if (size == 4)
    return copy_swapped_words<std::uint32_t, [](std::uint32_t x) { return __builtin_bswap32(x); }>(from, to, count);
  return copy_swapped_words<std::uint64_t, [](std::uint64_t x) { return __builtin_bswap64(x); }>(from, to, count);
}

/// Performs the one step, or copies as many bytes.
std::uint64_t pass(const std::vector<CastStep>& steps, const std::byte* from, std::byte* to, std::uint64_t bytes,
                   std::uint64_t count) {
  if (!steps.empty()) return steps.front()(from, to, count);
  std::memcpy(to, from, bytes);
  return 0;
}

}  // namespace

std::span<const CastSteps> cast_steps() {
  static const std::vector<CastSteps> all = [] {
    std::vector<CastSteps> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) found.push_back(avx2_steps);
#endif
    found.push_back(plain_steps);
    return found;
  }();
  return all;
}

Cast::Cast(const NumberFormat& from, const NumberFormat& to, const CastSteps& steps) : from_(from), to_(to) {
  const bool is_from_double = from.size == sizeof(double);
  if (from.kind == to.kind && from.size == to.size) return;
  if (!is_from_double)
    if (const CastStep step = widening(from, steps); step != nullptr) steps_.push_back(step);
  if (to.size == sizeof(double)) {
    steps_.push_back(steps.f32_to_f64);
  } else if (to.size == sizeof(float)) {
    if (is_from_double) steps_.push_back(steps.f64_to_f32);
  } else {
    if (is_from_double) steps_.push_back(steps.f64_to_odd_f32);
    steps_.push_back(to.kind == ElementKind::bfloat ? steps.f32_to_bf16 : steps.f32_to_f16);
  }
}

Cast::Cast(const NumberFormat& from, const NumberFormat& to, const Scaling& scaling)
    : Cast(from, *number_format(*number_type("f32"))) {
  after_ = Cast(*number_format(*number_type("f32")), to).steps_;
  to_ = to;
  scaling_ = scaling;
}

void Cast::run(const std::byte* source, std::byte* target, std::uint64_t count, const Overflow& overflowed) const {
  alignas(64) std::array<std::byte, block_count * largest_element> read;
  alignas(64) std::array<float, block_count> floats;
  std::byte* const single = reinterpret_cast<std::byte*>(floats.data());
  NumberFormat read_format = from_;
  read_format.is_swapped = false;
  for (std::uint64_t first = 0; first < count; first += block_count) {
    const std::uint64_t here = std::min(block_count, count - first);
    const std::byte* from = source + first * from_.size;
    std::byte* to = target + first * to_.size;
    if (from_.is_swapped)
      copy_swapped(from, read.data(), from_.size, here);
    else
      std::memcpy(read.data(), from, here * from_.size);
    std::uint64_t overflows = 0;
    if (scaling_) {
      overflows = pass(steps_, read.data(), single, here * from_.size, here);
      scaling_->apply(floats.data(), here);
      for (std::uint64_t i = 0; i < here; ++i) overflows += std::isfinite(floats[i]) ? 0U : 1U;
      overflows += pass(after_, single, to, here * sizeof(float), here);
    } else if (steps_.size() < 2) {
      overflows = pass(steps_, read.data(), to, here * from_.size, here);
    } else {
      overflows = steps_[0](read.data(), single, here);
      overflows += steps_[1](single, to, here);
    }
    for (std::uint64_t i = 0; overflows != 0 && i < here; ++i)
      if (std::isinf(float_value(to_, to + i * to_.size)) &&
          std::isfinite(float_value(read_format, read.data() + i * from_.size)))
        overflowed(first + i);
  }
}

}  // namespace ckpt
