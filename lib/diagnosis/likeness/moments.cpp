#include "diagnosis/likeness/moments.hpp"

#include <algorithm>
#include <cmath>

namespace ckpt::likeness {

namespace {

constexpr double steady = 3.0;      // a mean above so many spreads
constexpr double rounding = 1e-12;  // of the mean's square: what is left of a variance of 0

double spread(double count, double sum, double squares) {
  if (count == 0) return 0;
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  return variance <= rounding * mean * mean ? 0 : std::sqrt(variance);
}

}  // namespace

void Moments::add(float of_x, float of_y) {
  if (!std::isfinite(of_x) || !std::isfinite(of_y)) return;
  const double a = of_x;
  const double b = of_y;
  count += 1;
  x += a;
  y += b;
  xx += a * a;
  yy += b * b;
  xy += a * b;
}

void Moments::add(const Moments& other) {
  count += other.count;
  x += other.x;
  y += other.y;
  xx += other.xx;
  yy += other.yy;
  xy += other.xy;
}

double Moments::spread_of_x() const {
  return spread(count, x, xx);
}

double Moments::spread_of_y() const {
  return spread(count, y, yy);
}

std::optional<double> Moments::correlation() const {
  const double of_x = spread_of_x();
  const double of_y = spread_of_y();
  if (of_x == 0 || of_y == 0) return std::nullopt;
  if (std::min(std::abs(x) / of_x, std::abs(y) / of_y) > steady * count) return std::nullopt;
  return std::clamp((xy / count - x / count * (y / count)) / (of_x * of_y), -1.0, 1.0);
}

Moments moments_of(std::span<const float> x, std::span<const float> y) {
  Moments sums;
  for (std::size_t i = 0; i < x.size(); ++i) sums.add(x[i], y[i]);
  return sums;
}

}  // namespace ckpt::likeness
