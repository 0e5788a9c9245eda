#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/cast.hpp"
#include "tensor/number.hpp"

namespace ckpt {

/// Weighted sums of floating-point numbers: Σ weight · number, exactly, rounded to f64 and then to the result's format,
/// each time to the nearest, ties to even. So a sum depends on no order of its terms. As in IEEE arithmetic, NaN and
/// infinities stay, and what is too large for the result becomes infinite; every NaN is the same one.
class WeightedSum {
 public:
  /// Sums are made of one number of each format in `from`, times its weight; `to` is f64, f32, f16 or bf16 in this
  /// machine's byte order. Weights are 0, or of a magnitude from least_weight to most_weight.
  WeightedSum(std::vector<double> weights, std::vector<NumberFormat> from, const NumberFormat& to);

  static constexpr double least_weight = 1e-100;
  static constexpr double most_weight = 1e100;

  /// Makes `count` sums; the numbers of format i begin at sources[i]. Returns how many sums of finite numbers became
  /// infinite. Ranges must not overlap.
  std::uint64_t run(std::span<const std::byte* const> sources, std::byte* target, std::uint64_t count) const;

 private:
  class Terms;

  std::vector<double> weights_;
  std::vector<NumberFormat> from_;
  std::vector<Cast> widenings_;  // to f32, of f64 to f64
  NumberFormat to_;
  Cast rounding_;  // from f64
  bool has_f64_;
  bool may_be_exact_ = true;  ///< f64 may have room for all bits of products and their sums
};

}  // namespace ckpt
