#include "tensor/weighted_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/exact_sum.hpp"

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

/// The bits of the largest magnitude of a block, and one less than those of the smallest but 0.
struct Magnitudes {
  std::uint64_t most = 0;
  std::uint64_t least = ~std::uint64_t{0};
};

/// Adds weighted numbers to sums. To the first ones nothing is added, so that -0 stays.
template <class Number, class Bits>
[[gnu::always_inline]] inline Magnitudes add_term(const Number* __restrict numbers, double weight, bool is_first,
                                                  double* __restrict sums, std::uint64_t count) {
  if (is_first)
    for (std::uint64_t i = 0; i < count; ++i) sums[i] = weight * static_cast<double>(numbers[i]);
  else
    for (std::uint64_t i = 0; i < count; ++i) sums[i] += weight * static_cast<double>(numbers[i]);
  Bits most = 0;
  Bits least = ~Bits{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bits magnitude = std::bit_cast<Bits>(numbers[i]) & ~Bits{0} >> 1;
    most = std::max(most, magnitude);
    least = std::min<Bits>(least, magnitude - 1);
  }
  return {most, least == ~Bits{0} ? ~std::uint64_t{0} : least};
}

/// The numbers of f32 at which another format's rounding turns.
struct Borders {
  std::uint32_t mask = 0;   ///< the bits that the format lacks: at a border only the highest of them is 1
  std::uint32_t small = 0;  ///< bits of its least normal number, if it lacks more of smaller ones

  static Borders of(const NumberFormat& format) {
    if (format.size >= sizeof(float)) return {};
    return format.kind == ElementKind::bfloat ? Borders{0xffff, 0} : Borders{0x1fff, 0x38800000};
  }
  /// Not 0 if a number may lie at a border, or is infinite.
  [[gnu::always_inline]] std::uint32_t at(std::uint32_t bits) const {
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    const std::uint32_t lost = bits & mask;
    return static_cast<std::uint32_t>(lost == (mask >> 1) + 1) |
           (static_cast<std::uint32_t>(lost == 0) & static_cast<std::uint32_t>(magnitude < small)) |
           static_cast<std::uint32_t>(magnitude == 0x7f800000U);
  }
};

/// Sums in f32; a number that is not 0 where one is uncertain.
struct Rounded {
  alignas(64) BlockOf<std::uint32_t> numbers;
  alignas(64) BlockOf<std::uint32_t> uncertain;
};

/// Rounds sums to f32. Returns whether each result is certain: all numbers not further away than `error` are rounded to
/// it, and it can be rounded again: it is at no border, or the sum itself.
[[gnu::always_inline]] inline bool round_sums(const double* __restrict sums, double error, Borders borders,
                                              Rounded& __restrict made, std::uint64_t count) {
  std::uint32_t any = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto least = std::bit_cast<std::uint32_t>(static_cast<float>(sums[i] - error));
    const auto most = std::bit_cast<std::uint32_t>(static_cast<float>(sums[i] + error));
    const bool is_sum = error == 0 && static_cast<double>(std::bit_cast<float>(most)) == sums[i];
    const std::uint32_t uncertain = (least ^ most) | (borders.at(most) & static_cast<std::uint32_t>(!is_sum));
    any |= uncertain;
    made.numbers[i] = most;
    made.uncertain[i] = uncertain;
  }
  return any == 0;
}

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
    sums.rest[i] = is_certain | is_zero ? 0 : 1;
  }
}

struct SumSteps {
  void (*add_long)(const double*, double, bool, LongSums&, std::uint64_t);
  void (*round_long)(LongSums&, std::size_t, double, std::uint64_t);
  Magnitudes (*add_f32)(const float*, double, bool, double*, std::uint64_t);
  Magnitudes (*add_f64)(const double*, double, bool, double*, std::uint64_t);
  bool (*round)(const double*, double, Borders, Rounded&, std::uint64_t);
};

template <class Number, class Bits>
Magnitudes add_plain(const Number* numbers, double weight, bool is_first, double* sums, std::uint64_t count) {
  return add_term<Number, Bits>(numbers, weight, is_first, sums, count);
}

bool round_plain(const double* sums, double error, Borders borders, Rounded& rounded, std::uint64_t count) {
  return round_sums(sums, error, borders, rounded, count);
}

void add_long_plain(const double* numbers, double weight, bool is_first, LongSums& sums, std::uint64_t count) {
  add_long_term(numbers, weight, is_first, sums, count);
}

void round_long_plain(LongSums& sums, std::size_t terms, double least, std::uint64_t count) {
  round_long_sums(sums, terms, least, count);
}

#if defined(__x86_64__)
template <class Number, class Bits>
[[gnu::target("avx2")]] Magnitudes add_avx2(const Number* numbers, double weight, bool is_first, double* sums,
                                            std::uint64_t count) {
  return add_term<Number, Bits>(numbers, weight, is_first, sums, count);
}

[[gnu::target("avx2")]] bool round_avx2(const double* sums, double error, Borders borders, Rounded& rounded,
                                        std::uint64_t count) {
  return round_sums(sums, error, borders, rounded, count);
}

[[gnu::target("avx2,fma")]] void add_long_avx2(const double* numbers, double weight, bool is_first, LongSums& sums,
                                               std::uint64_t count) {
  if (is_first) return add_long_term(numbers, weight, true, sums, count);
  add_long_term(numbers, weight, false, sums, count);
}

[[gnu::target("avx2")]] void round_long_avx2(LongSums& sums, std::size_t terms, double least, std::uint64_t count) {
  round_long_sums(sums, terms, least, count);
}
#endif

/// Whichever steps add, results are the same: they only decide which sums are made exactly.
SumSteps fastest_steps() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {add_long_avx2, round_long_avx2, add_avx2<float, std::uint32_t>, add_avx2<double, std::uint64_t>,
            round_avx2};
#endif
  return {add_long_plain, round_long_plain, add_plain<float, std::uint32_t>, add_plain<double, std::uint64_t>,
          round_plain};
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
  int unit = std::numeric_limits<int>::max();

  template <class Number, class Bits>
  void add(const Magnitudes& found, double weight, int digits) {
    if (weight == 0 && std::isfinite(number<Number, Bits>(found.most))) return;
    const double most = std::abs(weight) * number<Number, Bits>(found.most);
    if (weight == 0 || ~found.least == 0) {
      bound += most;
      return;
    }
    bound += std::max(most, std::numeric_limits<double>::denorm_min());
    const int exponent = std::ilogb(number<Number, Bits>(found.least + 1));
    unit =
        std::min(unit, std::max(exponent, std::numeric_limits<Number>::min_exponent - 1) - digits + last_bit(weight));
  }

  bool is_finite() const { return std::isfinite(bound); }
  /// Whether errors of sums may be too small for f64.
  bool is_tiny() const { return bound != 0 && bound < least_certain; }
  /// Whether f64 has room for every multiple of 2^unit up to the bound, so that nothing was rounded.
  bool is_exact() const {
    return bound == 0 || (unit >= least_exponent && std::ilogb(bound) + 2 <= unit + digits_of_f64);
  }

 private:
  template <class Number, class Bits>
  static double number(std::uint64_t bits) {
    return static_cast<double>(std::bit_cast<Number>(static_cast<Bits>(bits)));
  }
};

}  // namespace

WeightedSum::WeightedSum(std::vector<double> weights, std::vector<NumberFormat> from, const NumberFormat& to)
    : weights_(std::move(weights)),
      from_(std::move(from)),
      to_(to),
      rounding_(native_float(sizeof(double)), to),
      rounding_of_f32_(native_float(sizeof(float)), to),
      has_f64_(std::ranges::any_of(from_, [](const NumberFormat& each) { return each.size == sizeof(double); })) {
  for (const NumberFormat& each : from_)
    widenings_.emplace_back(each, native_float(std::max(each.size, sizeof(float))));
}

/// A block of each source, in f32 or f64.
class WeightedSum::Terms {
 public:
  explicit Terms(const WeightedSum& sum)
      : sum_(sum), floats_(sum.from_.size() * summed_at_once), doubles_(sum.has_f64_ ? floats_.size() : 0) {}

  /// Widens `count` numbers of each source from `first` on, and adds them to sums.
  Scale add(std::span<const std::byte* const> sources, std::uint64_t first, double* sums, std::uint64_t count) {
    static const SumSteps steps = fastest_steps();
    Scale scale;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const NumberFormat& format = sum_.from_[i];
      const double weight = sum_.weights_[i];
      const std::byte* const from = sources[i] + first * format.size;
      const auto widened = [&](auto& numbers) {
        auto* const to = numbers.data() + i * summed_at_once;
        sum_.widenings_[i].run(from, reinterpret_cast<std::byte*>(to), count, ignore_overflow);
        return to;
      };
      if (format.size == sizeof(double))
        scale.add<double, std::uint64_t>(steps.add_f64(widened(doubles_), weight, i == 0, sums, count), weight,
                                         digits_of(format));
      else
        scale.add<float, std::uint32_t>(steps.add_f32(widened(floats_), weight, i == 0, sums, count), weight,
                                        digits_of(format));
    }
    return scale;
  }

  bool round(const double* sums, double error, Borders borders, Rounded& rounded, std::uint64_t count) const {
    static const SumSteps steps = fastest_steps();
    return steps.round(sums, error, borders, rounded, count);
  }

  bool are_finite(std::uint64_t at) const {
    for (std::size_t i = 0; i < sum_.from_.size(); ++i)
      if (!std::isfinite(number(i, at))) return false;
    return true;
  }

  /// The sums at some places of the block, rounded to f64.
  void sum(std::span<const std::uint32_t> places, double* results) {
    static const SumSteps steps = fastest_steps();
    const std::uint64_t count = places.size();
    for (std::size_t i = 0; i < sum_.from_.size(); ++i) {
      for (std::uint64_t at = 0; at < count; ++at) factors_[at] = number(i, places[at]);
      steps.add_long(factors_.data(), sum_.weights_[i], i == 0, long_, count);
    }
    // Products of f64 may be so small that they become 0.
    const double least = sum_.has_f64_ ? 0 : std::numeric_limits<double>::min();
    steps.round_long(long_, sum_.from_.size(), least, count);
    for (std::uint64_t at = 0; at < count; ++at) results[at] = long_.rest[at] == 0 ? long_.sum[at] : exact(places[at]);
  }

 private:
  double number(std::size_t source, std::uint64_t at) const {
    const std::size_t place = source * summed_at_once + at;
    return sum_.from_[source].size == sizeof(double) ? doubles_[place] : static_cast<double>(floats_[place]);
  }

  double exact(std::uint64_t at) const {
    ExactSum sum;
    double plain = 0;  // of what is not finite
    bool is_minus_zero = true;
    for (std::size_t i = 0; i < sum_.from_.size(); ++i) {
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
  std::vector<float> floats_;
  std::vector<double> doubles_;
  alignas(64) BlockOf<double> factors_;
  LongSums long_;
};

std::uint64_t WeightedSum::run(std::span<const std::byte* const> sources, std::byte* target,
                               std::uint64_t count) const {
  // Twice what n products and n - 1 sums can be off (N. J. Higham, "Accuracy and Stability", 3.1).
  const double error = static_cast<double>(from_.size() + 4) * std::numeric_limits<double>::epsilon();
  const Borders borders = Borders::of(to_);
  const bool may_go_by_f32 = to_.size <= sizeof(float);
  Terms terms(*this);
  alignas(64) BlockOf<double> sums;
  Rounded rounded;
  alignas(64) BlockOf<double> results;  // of sums that are uncertain, in f64
  alignas(64) BlockOf<double> made;
  std::array<std::uint32_t, summed_at_once> uncertain;
  std::uint64_t overflows = 0;
  for (std::uint64_t first = 0; first < count; first += summed_at_once) {
    const std::uint64_t here = std::min(summed_at_once, count - first);
    std::byte* const to = target + first * to_.size;
    const Scale scale = terms.add(sources, first, sums.data(), here);
    const bool is_exact = scale.is_finite() && scale.is_exact();
    const bool goes_by_f32 = may_go_by_f32 && scale.is_finite() && !scale.is_tiny();
    const double off = is_exact ? 0 : scale.bound * error;
    bool has_overflow = false;
    if (goes_by_f32) {
      const bool are_certain = terms.round(sums.data(), off, borders, rounded, here);
      rounding_of_f32_.run(bytes_of(rounded.numbers), to, here, [&](std::uint64_t) { has_overflow = true; });
      if (are_certain && !has_overflow) continue;
    }
    const bool are_all = !goes_by_f32 || has_overflow;
    std::size_t found = 0;
    for (std::uint64_t i = 0; i < here; ++i) {
      uncertain[found] = static_cast<std::uint32_t>(i);
      found += are_all || rounded.uncertain[i] != 0 ? 1U : 0U;
    }
    if (is_exact)
      for (std::size_t at = 0; at < found; ++at) results[at] = sums[uncertain[at]];
    else
      terms.sum(std::span(uncertain).first(found), results.data());
    const auto overflowed = [&](std::uint64_t at) { overflows += terms.are_finite(uncertain[at]) ? 1U : 0U; };
    rounding_.run(bytes_of(results), bytes_of(made), found, overflowed);
    for (std::size_t at = 0; at < found; ++at) {
      std::memcpy(to + uncertain[at] * to_.size, bytes_of(made) + at * to_.size, to_.size);
      if (std::isinf(results[at])) overflowed(at);
    }
  }
  return overflows;
}

}  // namespace ckpt
