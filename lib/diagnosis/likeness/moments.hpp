#pragma once

#include <optional>
#include <span>

namespace ckpt::likeness {

/// Sums over pairs of numbers (x, y), from which their correlation follows. Those of parts add up to those of the
/// whole.
struct Moments {
  double count = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;

  /// Adds one pair; pairs with a NaN or an infinity do not count.
  void add(float of_x, float of_y);
  void add(const Moments& other);

  /// The standard deviations; 0 for numbers that are all equal.
  double spread_of_x() const;
  double spread_of_y() const;
  /// Pearson's correlation. Nothing if either side is constant, or if both vary little about a mean: norms near 1, of
  /// which a few steps of training change the order.
  std::optional<double> correlation() const;
};

Moments moments_of(std::span<const float> x, std::span<const float> y);

}  // namespace ckpt::likeness
