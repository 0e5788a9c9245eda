#include "tensor/weighted_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace ckpt {

namespace {

constexpr std::uint64_t summed_at_once = 1024;  // as in a cast: a block in each of its forms stays in the cache

using Block = std::array<double, summed_at_once>;

NumberFormat f64() {
  return {ElementKind::ieee_float, sizeof(double), false, true};
}

void ignore_overflow(std::uint64_t /*at*/) {}

/// Adds a weighted block to sums, and its magnitudes to theirs. The first sum has nothing added to it: -0 stays.
[[gnu::always_inline]] inline void add_term(const double* __restrict numbers, double weight, bool is_first,
                                            double* __restrict sums, double* __restrict magnitudes,
                                            std::uint64_t count) {
  if (is_first) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const double product = weight * numbers[i];
      sums[i] = product;
      magnitudes[i] = std::abs(product);
    }
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const double product = weight * numbers[i];
    sums[i] += product;
    magnitudes[i] += std::abs(product);
  }
}

/// Turns sums and magnitudes into the least and the largest number that the exact sum can be. Returns whether all are
/// finite.
[[gnu::always_inline]] inline bool to_bounds(double* __restrict sums, double* __restrict magnitudes, double error,
                                             std::uint64_t count) {
  std::uint64_t infinite = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double bound = magnitudes[i] * error;
    infinite += static_cast<std::uint64_t>(!(magnitudes[i] <= std::numeric_limits<double>::max()));
    magnitudes[i] = sums[i] + bound;
    sums[i] -= bound;
  }
  return infinite == 0;
}

struct Steps {
  void (*add)(const double*, double, bool, double*, double*, std::uint64_t);
  bool (*bound)(double*, double*, double, std::uint64_t);
};

void add_plain(const double* numbers, double weight, bool is_first, double* sums, double* magnitudes,
               std::uint64_t count) {
  add_term(numbers, weight, is_first, sums, magnitudes, count);
}

bool bound_plain(double* sums, double* magnitudes, double error, std::uint64_t count) {
  return to_bounds(sums, magnitudes, error, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(const double* numbers, double weight, bool is_first, double* sums,
                                      double* magnitudes, std::uint64_t count) {
  add_term(numbers, weight, is_first, sums, magnitudes, count);
}

[[gnu::target("avx2")]] bool bound_avx2(double* sums, double* magnitudes, double error, std::uint64_t count) {
  return to_bounds(sums, magnitudes, error, count);
}
#endif

/// Whichever steps add, results are the same: they only decide which sums are made exactly.
Steps fastest_steps() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return {add_avx2, bound_avx2};
#endif
  return {add_plain, bound_plain};
}

/// Adds a number to parts that do not overlap, smallest first, whose sum is exact (J. R. Shewchuk, "Adaptive Precision
/// Floating-Point Arithmetic", grow-expansion).
void add_exactly(double number, std::vector<double>& parts) {
  std::size_t kept = 0;
  for (double part : parts) {
    if (std::abs(number) < std::abs(part)) std::swap(number, part);
    const double sum = number + part;
    const double rest = part - (sum - number);
    if (rest != 0) parts[kept++] = rest;
    number = sum;
  }
  parts.resize(kept);
  if (number != 0) parts.push_back(number);
}

/// Rounds the sum of such parts once: where the largest and the next one give a tie, the one below them decides.
double rounded(std::vector<double>& parts) {
  double sum = 0;
  double rest = 0;
  while (!parts.empty() && rest == 0) {
    const double part = parts.back();
    parts.pop_back();
    const double before = sum;
    sum = before + part;
    rest = part - (sum - before);
  }
  if (parts.empty() || rest == 0 || (rest < 0) != (parts.back() < 0)) return sum;
  const double twice = rest * 2;
  const double other = sum + twice;
  return other - sum == twice ? other : sum;
}

}  // namespace

WeightedSum::WeightedSum(std::vector<double> weights, std::vector<NumberFormat> from, const NumberFormat& to)
    : weights_(std::move(weights)), from_(std::move(from)), to_(to), rounding_(f64(), to) {
  for (const NumberFormat& each : from_) widenings_.emplace_back(each, f64());
}

double WeightedSum::exact(std::span<const std::byte* const> sources, std::uint64_t at) const {
  std::vector<double> parts;
  double plain = 0;
  bool is_minus_zero = true;
  for (std::size_t i = 0; i < from_.size(); ++i) {
    const double number = float_value(from_[i], sources[i] + at * from_[i].size);
    const double product = weights_[i] * number;
    plain += product;
    is_minus_zero = is_minus_zero && product == 0 && std::signbit(product);
    if (!std::isfinite(plain)) continue;
    add_exactly(product, parts);
    if (const double rest = std::fma(weights_[i], number, -product); rest != 0) add_exactly(rest, parts);
  }
  if (std::isnan(plain)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(plain)) return plain;
  return is_minus_zero ? -0.0 : rounded(parts);
}

std::uint64_t WeightedSum::run(std::span<const std::byte* const> sources, std::byte* target,
                               std::uint64_t count) const {
  static const Steps steps = fastest_steps();
  // Twice what n products and n - 1 sums can be off (N. J. Higham, "Accuracy and Stability", 3.1).
  const double error = static_cast<double>(from_.size() + 4) * std::numeric_limits<double>::epsilon();
  alignas(64) Block numbers;
  alignas(64) Block least;
  alignas(64) Block most;
  alignas(64) std::array<std::byte, summed_at_once * sizeof(double)> other;
  const auto bytes_of = [](Block& block) { return reinterpret_cast<std::byte*>(block.data()); };
  std::uint64_t overflows = 0;
  for (std::uint64_t first = 0; first < count; first += summed_at_once) {
    const std::uint64_t here = std::min(summed_at_once, count - first);
    std::byte* const to = target + first * to_.size;
    for (std::size_t i = 0; i < from_.size(); ++i) {
      widenings_[i].run(sources[i] + first * from_[i].size, bytes_of(numbers), here, ignore_overflow);
      steps.add(numbers.data(), weights_[i], i == 0, least.data(), most.data(), here);
    }
    bool is_each_certain = steps.bound(least.data(), most.data(), error, here);
    const auto overflowed = [&](std::uint64_t /*at*/) { is_each_certain = false; };
    rounding_.run(bytes_of(least), to, here, overflowed);
    rounding_.run(bytes_of(most), other.data(), here, overflowed);
    if (is_each_certain && std::memcmp(to, other.data(), here * to_.size) == 0) continue;
    for (std::uint64_t i = 0; i < here; ++i) {
      std::byte* const result = to + i * to_.size;
      if (is_each_certain && std::memcmp(result, other.data() + i * to_.size, to_.size) == 0) continue;
      const double sum = exact(sources, first + i);
      bool is_infinite = std::isinf(sum);
      rounding_.run(reinterpret_cast<const std::byte*>(&sum), result, 1, [&](std::uint64_t) { is_infinite = true; });
      const auto is_finite = [&](std::size_t j) {
        return std::isfinite(float_value(from_[j], sources[j] + (first + i) * from_[j].size));
      };
      bool are_finite = is_infinite;
      for (std::size_t j = 0; are_finite && j < from_.size(); ++j) are_finite = is_finite(j);
      overflows += are_finite ? 1U : 0U;
    }
  }
  return overflows;
}

}  // namespace ckpt
