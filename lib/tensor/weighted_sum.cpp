#include "tensor/weighted_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tensor/exact_sum.hpp"
#include "tensor/rounding.hpp"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // false alarms of g++ 12 in its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace ckpt {

namespace {

constexpr std::uint64_t summed_at_once = 1024;  // as in a cast: a block in each of its forms stays in the cache
constexpr double least_certain = 0x1p-900;      // the errors of smaller sums may be too small for f64
constexpr int digits_of_f64 = std::numeric_limits<double>::digits;
constexpr int least_exponent = std::numeric_limits<double>::min_exponent - digits_of_f64;  // of a subnormal

template <class Number>
using BlockOf = std::array<Number, summed_at_once>;

NumberFormat native_float(std::uint64_t size) {
  return {ElementKind::ieee_float, size, false, true};
}

void ignore_overflow(std::uint64_t /*at*/) {}

template <class Number>
std::byte* bytes_of(BlockOf<Number>& block) {
  return reinterpret_cast<std::byte*>(block.data());
}

// How numbers are stored, and their values in f32 or f64.

struct FromBF16 {
  using Stored = std::uint16_t;
  static float value(Stored bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

struct FromF16 {
  using Stored = std::uint16_t;
  static float value(Stored bits) { return std::bit_cast<float>(rounding::of_f16(bits)); }
};

struct FromF32 {
  using Stored = float;
  static float value(Stored number) { return number; }
};

struct FromF64 {
  using Stored = double;
  static double value(Stored number) { return number; }
};

template <class From>
[[gnu::always_inline]] inline auto value_at(const std::byte* from, std::uint64_t at) {
  typename From::Stored stored;
  std::memcpy(&stored, from + at * sizeof stored, sizeof stored);
  return From::value(stored);
}

template <class From>
using BitsOf = std::conditional_t<std::is_same_v<typename From::Stored, double>, std::uint64_t, std::uint32_t>;

template <class From>
[[gnu::always_inline]] inline BitsOf<From> magnitude_at(const std::byte* from, std::uint64_t at) {
  return std::bit_cast<BitsOf<From>>(value_at<From>(from, at)) & ~BitsOf<From>{0} >> 1;
}

template <class From>
double number_of(BitsOf<From> bits) {
  return std::bit_cast<decltype(From::value({}))>(bits);
}

/// Adds weighted numbers to sums. To the first ones nothing is added, so that -0 stays. Returns the largest magnitude;
/// NaN or infinity if there is one.
template <class From, bool Fuses>
[[gnu::always_inline]] inline double add_term(const std::byte* __restrict from, double weight, bool is_first,
                                              double* __restrict sums, std::uint64_t count) {
  BitsOf<From> most = 0;
  if (is_first)
    for (std::uint64_t i = 0; i < count; ++i) {
      sums[i] = weight * static_cast<double>(value_at<From>(from, i));
      most = std::max(most, magnitude_at<From>(from, i));
    }
  else
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto number = static_cast<double>(value_at<From>(from, i));
      sums[i] = Fuses ? __builtin_fma(weight, number, sums[i]) : sums[i] + weight * number;
      most = std::max(most, magnitude_at<From>(from, i));
    }
  return number_of<From>(most);
}

/// Returns the smallest magnitude but 0; infinity if there is none.
template <class From>
[[gnu::always_inline]] inline double least_of(const std::byte* from, std::uint64_t count) {
  BitsOf<From> least = ~BitsOf<From>{0};
  for (std::uint64_t i = 0; i < count; ++i) least = std::min<BitsOf<From>>(least, magnitude_at<From>(from, i) - 1);
  return least == ~BitsOf<From>{0} ? std::numeric_limits<double>::infinity() : number_of<From>(least + 1);
}

using Flags = std::array<std::uint8_t, summed_at_once>;
using Places = std::array<std::uint32_t, summed_at_once + 16>;  // and what is written in vain with the last ones

constexpr std::uint32_t magnitude_of(float number) {
  return std::bit_cast<std::uint32_t>(number) & 0x7fffffffU;
}

/// Where rounding f32 to a format turns.
template <class Format>
struct Border;
template <>
struct Border<rounding::ToBF16> {
  static constexpr std::uint32_t lost = 0xffff;     ///< the bits that the format lacks
  static constexpr std::uint32_t tie = 0x8000;      ///< these bits between two numbers
  static constexpr std::uint32_t least_normal = 0;  ///< of smaller numbers, it lacks more
};
template <>
struct Border<rounding::ToF16> {
  static constexpr std::uint32_t lost = 0x1fff;
  static constexpr std::uint32_t tie = 0x1000;
  static constexpr std::uint32_t least_normal = 0x38800000;
};

/// Rounds sums to f32, and that to a format. Returns whether each result is certain, with flags for those that are not:
/// all numbers not further away than `error` are rounded to it. Without an error, sums are rounded twice, too: f32 must
/// not have put one on a border.
template <class Format, bool IsExact>
[[gnu::always_inline]] inline bool round_sums(const double* __restrict sums, double error, std::byte* __restrict to,
                                              Flags& __restrict flags, std::uint64_t count) {
  // From this magnitude on an error is at most a quarter of the distance of two numbers of f32.
  const std::uint32_t least = magnitude_of(static_cast<float>(error * 0x1p26)) + 1;
  std::uint32_t any = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto sum = static_cast<float>(sums[i]);
    const auto bits = std::bit_cast<std::uint32_t>(sum);
    const std::uint32_t magnitude = magnitude_of(sum);
    auto uncertain = static_cast<std::uint32_t>(magnitude >= Format::rounds_to_infinity);
    if constexpr (!std::is_same_v<Format, rounding::ToF32>) {
      using At = Border<Format>;
      const std::uint32_t lost = bits & At::lost;
      const auto is_small = static_cast<std::uint32_t>(magnitude < At::least_normal);
      if constexpr (IsExact)
        uncertain |= static_cast<std::uint32_t>(static_cast<double>(sum) != sums[i]) &
                     (static_cast<std::uint32_t>(lost == At::tie) | (static_cast<std::uint32_t>(lost == 0) & is_small));
      else
        uncertain |= static_cast<std::uint32_t>(lost - (At::tie - 1) <= 2) |
                     static_cast<std::uint32_t>(magnitude < least) | is_small;
    } else if constexpr (!IsExact) {
      uncertain |= std::bit_cast<std::uint32_t>(static_cast<float>(sums[i] - error)) ^
                   std::bit_cast<std::uint32_t>(static_cast<float>(sums[i] + error));
    }
    any |= uncertain;
    flags[i] = uncertain != 0 ? 1 : 0;
    const auto rounded = static_cast<typename Format::To>(Format::number(bits));
    std::memcpy(to + i * sizeof rounded, &rounded, sizeof rounded);
  }
  return any == 0;
}

/// Writes the indices of flags that are set; returns how many.
std::size_t find_plain(const Flags& flags, std::uint64_t count, Places& places) {
  std::size_t found = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    places[found] = static_cast<std::uint32_t>(i);
    found += flags[i];
  }
  return found;
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512vl,popcnt")]] std::size_t find_avx512(const Flags& flags, std::uint64_t count,
                                                                            Places& places) {
  std::size_t found = 0;
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (std::uint64_t i = 0; i < count; i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags.data() + i));
    const auto mask =
        static_cast<__mmask16>(_mm_test_epi8_mask(some, some) & ((1U << std::min<std::uint64_t>(16, count - i)) - 1));
    _mm512_storeu_si512(places.data() + found, _mm512_maskz_compress_epi32(mask, index));
    found += static_cast<std::size_t>(__builtin_popcount(mask));
    index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
  }
  return found;
}
#endif

/// Sums in twice the digits of f64: each is `sum` and a small `rest`.
struct LongSums {
  alignas(64) BlockOf<double> sum;
  alignas(64) BlockOf<double> rest;
  alignas(64) BlockOf<double> magnitude;  ///< of all terms together
};

/// Adds weighted numbers to such sums (D. E. Knuth's TwoSum; the error of a product by FMA).
[[gnu::always_inline]] inline void add_long_term(const double* __restrict numbers, double weight, bool is_first,
                                                 LongSums& __restrict sums, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const double product = weight * numbers[i];
    const double lost = __builtin_fma(weight, numbers[i], -product);
    const double before = is_first ? 0 : sums.sum[i];
    const double sum = is_first ? product : before + product;  // -0 stays
    const double added = sum - before;
    sums.rest[i] = (is_first ? 0 : sums.rest[i]) + (((before - (sum - added)) + (product - added)) + lost);
    sums.magnitude[i] = (is_first ? 0 : sums.magnitude[i]) + __builtin_fabs(product);
    sums.sum[i] = sum;
  }
}

/// Rounds sums of n terms to f64, in place of `sum`; `rest` becomes 0 where the result is certain. The rest is a sum of
/// 2n errors of at most n * epsilon / 2 * magnitude together, itself rounded 2n times. `least`: of a magnitude above 0.
[[gnu::always_inline]] inline void round_long_sums(LongSums& sums, std::size_t terms, double least,
                                                   std::uint64_t count) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  const double relative = static_cast<double>(terms + 2) * epsilon;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double sum = sums.sum[i];
    const double rest = sums.rest[i];
    const double off = sums.magnitude[i] * relative * relative;
    const double nearest = sum + rest;
    const double behind = rest - (nearest - sum);
    const bool is_certain = (__builtin_fabs(rest) <= __builtin_fabs(sum)) & (__builtin_fabs(nearest) > least_certain) &
                            (nearest + (behind - off) == nearest) & (nearest + (behind + off) == nearest);
    const bool is_zero = sums.magnitude[i] < least;
    sums.sum[i] = is_zero ? sum : nearest;
    sums.rest[i] = (is_certain | is_zero) ? 0 : 1;
  }
}

/// The operations on numbers of one format.
struct TermSteps {
  double (*add)(const std::byte*, double, bool, double*, std::uint64_t);
  double (*least)(const std::byte*, std::uint64_t);
  void (*take)(const std::byte*, std::span<const std::uint32_t>, double*);  ///< in f64, those at some places
};

struct SumSteps {
  std::size_t (*find)(const Flags&, std::uint64_t, Places&);
  void (*add_long)(const double*, double, bool, LongSums&, std::uint64_t);
  void (*round_long)(LongSums&, std::size_t, double, std::uint64_t);
  TermSteps from_bf16;
  TermSteps from_f16;
  TermSteps from_f32;
  TermSteps from_f64;
  using Round = bool (*)(const double*, double, std::byte*, Flags&, std::uint64_t);
  Round to_bf16;
  Round to_f16;
  Round to_f32;
};

template <class From>
void take(const std::byte* from, std::span<const std::uint32_t> places, double* numbers) {
  for (std::size_t i = 0; i < places.size(); ++i) numbers[i] = static_cast<double>(value_at<From>(from, places[i]));
}

// NOLINTBEGIN(bugprone-macro-parentheses): attributes and parts of names are no expressions
#define CKPT_SUM_STEPS(name, fuses, find, target)                                                                    \
  template <class From>                                                                                              \
  target double add_##name(const std::byte* from, double weight, bool is_first, double* sums, std::uint64_t count) { \
    return add_term<From, fuses>(from, weight, is_first, sums, count);                                               \
  }                                                                                                                  \
  template <class From>                                                                                              \
  target double least_##name(const std::byte* from, std::uint64_t count) {                                           \
    return least_of<From>(from, count);                                                                              \
  }                                                                                                                  \
  template <class Format>                                                                                            \
  target bool round_##name(const double* sums, double error, std::byte* to, Flags& flags, std::uint64_t count) {     \
    return error == 0 ? round_sums<Format, true>(sums, 0, to, flags, count)                                          \
                      : round_sums<Format, false>(sums, error, to, flags, count);                                    \
  }                                                                                                                  \
  target void add_long_##name(const double* numbers, double weight, bool is_first, LongSums& sums,                   \
                              std::uint64_t count) {                                                                 \
    if (is_first) return add_long_term(numbers, weight, true, sums, count);                                          \
    add_long_term(numbers, weight, false, sums, count);                                                              \
  }                                                                                                                  \
  target void round_long_##name(LongSums& sums, std::size_t terms, double least, std::uint64_t count) {              \
    round_long_sums(sums, terms, least, count);                                                                      \
  }                                                                                                                  \
  constexpr SumSteps steps_##name{find,                                                                              \
                                  add_long_##name,                                                                   \
                                  round_long_##name,                                                                 \
                                  {add_##name<FromBF16>, least_##name<FromBF16>, take<FromBF16>},                    \
                                  {add_##name<FromF16>, least_##name<FromF16>, take<FromF16>},                       \
                                  {add_##name<FromF32>, least_##name<FromF32>, take<FromF32>},                       \
                                  {add_##name<FromF64>, least_##name<FromF64>, take<FromF64>},                       \
                                  round_##name<rounding::ToBF16>,                                                    \
                                  round_##name<rounding::ToF16>,                                                     \
                                  round_##name<rounding::ToF32>};

CKPT_SUM_STEPS(plain, false, find_plain, )
#if defined(__x86_64__)
CKPT_SUM_STEPS(avx2, true, find_plain, [[gnu::target("avx2,fma")]])
CKPT_SUM_STEPS(avx512, true, find_avx512, [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]])
#endif
#undef CKPT_SUM_STEPS
// NOLINTEND(bugprone-macro-parentheses)

/// Whichever steps add, results are the same: they only decide which sums are made exactly.
const SumSteps& fastest_steps() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt"))
    return steps_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return steps_avx2;
#endif
  return steps_plain;
}

const TermSteps& steps_from(const NumberFormat& format) {
  const SumSteps& steps = fastest_steps();
  if (format.size == sizeof(double)) return steps.from_f64;
  if (format.size == sizeof(float)) return steps.from_f32;
  return format.kind == ElementKind::bfloat ? steps.from_bf16 : steps.from_f16;
}

SumSteps::Round rounding_to(const NumberFormat& format) {
  const SumSteps& steps = fastest_steps();
  if (format.size == sizeof(float)) return steps.to_f32;
  return format.kind == ElementKind::bfloat ? steps.to_bf16 : steps.to_f16;
}

/// The bits of a number behind its first one.
int digits_of(const NumberFormat& format) {
  switch (format.kind) {
    case ElementKind::bfloat:
      return 7;
    case ElementKind::f8_e4m3:
      return 3;
    case ElementKind::f8_e5m2:
      return 2;
    default:
      return format.size == 2 ? 10 : format.size == 4 ? 23 : 52;
  }
}

/// The exponent of the last bit of a number that is 1.
int last_bit(double number) {
  int exponent = 0;
  const auto whole = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &exponent), digits_of_f64));
  return exponent - digits_of_f64 + std::countr_zero(static_cast<std::uint64_t>(whole));
}

/// Bounds for a block's sums: they are at most `bound`, and all terms are multiples of 2^unit.
struct Scale {
  double bound = 0;
  int unit = std::numeric_limits<int>::min();

  /// Adds numbers of magnitudes up to `most`.
  void add(double most, double weight) {
    if (most == 0 || (weight == 0 && std::isfinite(most))) return;
    bound += std::max(std::abs(weight) * most, std::numeric_limits<double>::denorm_min());
    if (std::isnan(most)) bound = most;
  }

  bool is_finite() const { return std::isfinite(bound); }
  /// Whether errors of sums may be too small for f64.
  bool is_tiny() const { return bound != 0 && bound < least_certain; }
  /// Whether f64 has room for every multiple of 2^unit up to the bound, so that nothing was rounded.
  bool is_exact() const {
    return bound == 0 || (unit >= least_exponent && std::ilogb(bound) + 2 <= unit + digits_of_f64);
  }
};

/// The exponent of the least bit of numbers of a format, of magnitudes from `least` on.
int least_bit(double least, const NumberFormat& format) {
  const int lowest = format.size == sizeof(double) ? std::numeric_limits<double>::min_exponent
                                                   : std::numeric_limits<float>::min_exponent;
  return std::max(std::ilogb(least), lowest - 1) - digits_of(format);
}

template <class Element>
void scatter(const std::byte* from, std::span<const std::uint32_t> places, std::byte* to) {
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(to + places[i] * sizeof(Element), from + i * sizeof(Element), sizeof(Element));
}

/// Puts elements of 2, 4 or 8 bytes to their places.
void scatter(const std::byte* from, std::span<const std::uint32_t> places, std::uint64_t size, std::byte* to) {
  if (size == sizeof(std::uint16_t)) return scatter<std::uint16_t>(from, places, to);
  if (size == sizeof(std::uint32_t)) return scatter<std::uint32_t>(from, places, to);
  scatter<std::uint64_t>(from, places, to);
}

bool is_native(const NumberFormat& format) {
  return !format.is_swapped && format.size > 1;
}

}  // namespace

WeightedSum::WeightedSum(std::vector<double> weights, std::vector<NumberFormat> from, const NumberFormat& to)
    : weights_(std::move(weights)),
      from_(std::move(from)),
      to_(to),
      rounding_(native_float(sizeof(double)), to),
      has_f64_(std::ranges::any_of(from_, [](const NumberFormat& each) { return each.size == sizeof(double); })) {
  for (std::size_t i = 0; i < from_.size(); ++i) {
    widenings_.emplace_back(from_[i], native_float(std::max(from_[i].size, sizeof(float))));
    const double weight = weights_[i];
    if (weight != 0 && std::ilogb(weight) - last_bit(weight) + digits_of(from_[i]) + 3 > digits_of_f64)
      may_be_exact_ = false;
  }
}

/// A block of each source.
class WeightedSum::Terms {
 public:
  explicit Terms(const WeightedSum& sum) : sum_(sum), blocks_(sum.from_.size()) {
    for (const NumberFormat& format : sum.from_)
      formats_.push_back(is_native(format) ? format : native_float(std::max(format.size, sizeof(float))));
    for (const NumberFormat& format : formats_) steps_.push_back(&steps_from(format));
    if (!std::ranges::all_of(sum.from_, is_native)) widened_.resize(sum.from_.size());
  }

  /// Adds `count` numbers of each source from `first` on to sums.
  Scale add(std::span<const std::byte* const> sources, std::uint64_t first, double* sums, std::uint64_t count) {
    Scale scale;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const NumberFormat& format = sum_.from_[i];
      blocks_[i] = sources[i] + first * format.size;
      if (!is_native(format)) {
        sum_.widenings_[i].run(blocks_[i], bytes_of(widened_[i]), count, ignore_overflow);
        blocks_[i] = bytes_of(widened_[i]);
      }
      scale.add(steps_[i]->add(blocks_[i], sum_.weights_[i], i == 0, sums, count), sum_.weights_[i]);
    }
    if (sum_.may_be_exact_ && scale.is_finite()) scale.unit = unit(count);
    return scale;
  }

  bool are_finite(std::uint32_t at) const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (!std::isfinite(number(i, at))) return false;
    return true;
  }

  /// The sums at some places of the block, rounded to f64.
  void sum(std::span<const std::uint32_t> places, double* results) {
    const SumSteps& steps = fastest_steps();
    const std::uint64_t count = places.size();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      steps_[i]->take(blocks_[i], places, factors_.data());
      steps.add_long(factors_.data(), sum_.weights_[i], i == 0, long_, count);
    }
    // Products of f64 may be so small that they become 0.
    const double least = sum_.has_f64_ ? 0 : std::numeric_limits<double>::min();
    steps.round_long(long_, steps_.size(), least, count);
    for (std::uint64_t at = 0; at < count; ++at) results[at] = long_.rest[at] == 0 ? long_.sum[at] : exact(places[at]);
  }

 private:
  double number(std::size_t source, std::uint32_t at) const {
    double found = 0;
    steps_[source]->take(blocks_[source], {&at, 1}, &found);
    return found;
  }

  /// The exponent of a bit of which all products are multiples.
  int unit(std::uint64_t count) const {
    int least = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double smallest = sum_.weights_[i] == 0 ? 0 : steps_[i]->least(blocks_[i], count);
      if (smallest != 0 && std::isfinite(smallest))
        least = std::min(least, least_bit(smallest, formats_[i]) + last_bit(sum_.weights_[i]));
    }
    return least;
  }

  double exact(std::uint32_t at) const {
    ExactSum sum;
    double plain = 0;  // of what is not finite
    bool is_minus_zero = true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double factor = number(i, at);
      const double weight = sum_.weights_[i];
      is_minus_zero = is_minus_zero && (factor == 0 || weight == 0) && std::signbit(factor) != std::signbit(weight);
      if (std::isfinite(factor))
        sum.add(weight, factor);
      else
        plain += weight * factor;
    }
    if (std::isnan(plain)) return std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(plain)) return plain;
    return is_minus_zero ? -0.0 : sum.rounded();
  }

  const WeightedSum& sum_;
  std::vector<NumberFormat> formats_;  // in which sources are added
  std::vector<const TermSteps*> steps_;
  std::vector<const std::byte*> blocks_;
  std::vector<BlockOf<double>> widened_;
  alignas(64) BlockOf<double> factors_;
  LongSums long_;
};

std::uint64_t WeightedSum::run(std::span<const std::byte* const> sources, std::byte* target,
                               std::uint64_t count) const {
  // Twice what n products and n - 1 sums can be off (N. J. Higham, "Accuracy and Stability", 3.1).
  const double error = static_cast<double>(from_.size() + 4) * std::numeric_limits<double>::epsilon();
  const bool may_go_by_f32 = to_.size <= sizeof(float);
  const SumSteps::Round round = rounding_to(to_);
  Terms terms(*this);
  alignas(64) BlockOf<double> sums;
  alignas(64) Flags flags{};
  alignas(64) BlockOf<double> results;  // of sums that are uncertain, in f64
  alignas(64) BlockOf<double> made;
  Places uncertain;
  std::uint64_t overflows = 0;
  for (std::uint64_t first = 0; first < count; first += summed_at_once) {
    const std::uint64_t here = std::min(summed_at_once, count - first);
    std::byte* const to = target + first * to_.size;
    const Scale scale = terms.add(sources, first, sums.data(), here);
    const bool is_exact = scale.is_finite() && scale.is_exact();
    if (may_go_by_f32 && scale.is_finite() && !scale.is_tiny()) {
      if (round(sums.data(), is_exact ? 0 : scale.bound * error, to, flags, here)) continue;
    } else {
      flags.fill(1);
    }
    const std::size_t found = fastest_steps().find(flags, here, uncertain);
    if (is_exact)
      for (std::size_t at = 0; at < found; ++at) results[at] = sums[uncertain[at]];
    else
      terms.sum(std::span(uncertain).first(found), results.data());
    const auto overflowed = [&](std::uint64_t at) { overflows += terms.are_finite(uncertain[at]) ? 1U : 0U; };
    rounding_.run(bytes_of(results), bytes_of(made), found, overflowed);
    scatter(bytes_of(made), std::span(uncertain).first(found), to_.size, to);
    for (std::size_t at = 0; at < found; ++at)
      if (std::isinf(results[at])) overflowed(at);
  }
  return overflows;
}

}  // namespace ckpt
