#include "tensor/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ckpt {

namespace {

constexpr int word_bits = 64;
constexpr int digits = std::numeric_limits<double>::digits;
constexpr int least_f64 = std::numeric_limits<double>::min_exponent - digits;  // of a subnormal's last bit

}  // namespace

void ExactSum::Magnitude::add(std::uint64_t number, std::size_t first_bit) {
  std::size_t at = first_bit / word_bits;
  const std::size_t shift = first_bit % word_bits;
  begin = std::min(begin, at);
  bool carry = __builtin_add_overflow(word[at], number << shift, &word[at]);
  ++at;
  std::uint64_t more = shift == 0 ? 0 : number >> (word_bits - shift);
  for (; carry || more != 0; ++at, more = 0)  // more + 1 does not overflow: it is less than 2^53
    carry = __builtin_add_overflow(word[at], more + (carry ? 1 : 0), &word[at]);
  end = std::max(end, at);
}

ExactSum::Magnitude ExactSum::difference(const Magnitude& a, const Magnitude& b) {
  Magnitude made = a;
  made.begin = std::min(a.begin, b.begin);
  bool borrow = false;
  for (std::size_t at = made.begin; at < made.end; ++at) {
    borrow = __builtin_sub_overflow(made.word[at], static_cast<std::uint64_t>(borrow), &made.word[at]);
    borrow |= __builtin_sub_overflow(made.word[at], b.word[at], &made.word[at]);
  }
  return made;
}

void ExactSum::add(double factor, double other) {
  int exponent = 0;
  int more = 0;
  factor = std::frexp(factor, &exponent);
  other = std::frexp(other, &more);
  const double product = factor * other;
  add_scaled(product, exponent + more);
  add_scaled(std::fma(factor, other, -product), exponent + more);
}

/// Adds number * 2^exponent.
void ExactSum::add_scaled(double number, int exponent) {
  int more = 0;
  const auto whole = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &more), digits));
  if (whole == 0) return;
  (whole > 0 ? positive_ : negative_)
      .add(static_cast<std::uint64_t>(std::abs(whole)),
           static_cast<std::size_t>(exponent + more - digits - least_exponent));
}

double ExactSum::rounded() const {
  std::size_t top = std::max(positive_.end, negative_.end);
  while (top > 0 && positive_.word[top - 1] == negative_.word[top - 1]) --top;
  if (top == 0) return 0;
  const bool is_negative = negative_.word[top - 1] > positive_.word[top - 1];
  const Magnitude sum = is_negative ? difference(negative_, positive_) : difference(positive_, negative_);
  while (sum.word[top - 1] == 0) --top;

  const int highest = static_cast<int>(top) * word_bits - 1 - std::countl_zero(sum.word[top - 1]);
  const int last = std::max(highest - digits + 1, least_f64 - least_exponent);  // the bit that the result's last one is
  const auto bit = [&](int at) { return sum.word[static_cast<std::size_t>(at / word_bits)] >> (at % word_bits) & 1U; };
  std::uint64_t kept = 0;
  for (int at = highest; at >= last; --at) kept = kept << 1 | bit(at);
  const auto half = static_cast<std::size_t>((last - 1) / word_bits);
  const std::uint64_t below = sum.word[half] & ((std::uint64_t{1} << ((last - 1) % word_bits)) - 1);
  const bool is_more =
      below != 0 || std::any_of(sum.word.begin() + static_cast<std::ptrdiff_t>(sum.begin),
                                sum.word.begin() + static_cast<std::ptrdiff_t>(std::max(sum.begin, half)),
                                [](std::uint64_t word) { return word != 0; });
  if (bit(last - 1) != 0 && (is_more || (kept & 1U) != 0)) ++kept;
  const double magnitude = std::ldexp(static_cast<double>(kept), last + least_exponent);
  return is_negative ? -magnitude : magnitude;
}

}  // namespace ckpt
