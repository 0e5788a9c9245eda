#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tensor/number.hpp"
#include "tensor/scaling.hpp"

namespace ckpt {

/// One pass over a block of numbers, from one type of this machine to another. Returns how many finite numbers became
/// infinite. The ranges must not overlap.
using CastStep = std::uint64_t (*)(const std::byte* from, std::byte* to, std::uint64_t count);

/// The steps of every cast, for one instruction set.
struct CastSteps {
  CastStep f64_to_f32;
  CastStep f64_to_odd_f32;  ///< rounds to odd: an inexact number becomes the neighbour with a last bit of 1, which can
                            ///< be rounded again
  CastStep f32_to_f64;
  CastStep f32_to_f16;
  CastStep f32_to_bf16;
  CastStep f16_to_f32;
  CastStep bf16_to_f32;
  CastStep e4m3_to_f32;
  CastStep e5m2_to_f32;
};

/// Returns the step sets that this processor can run, fastest first; all give the same results.
std::span<const CastSteps> cast_steps();

/// Casts floating-point numbers from one format to another: to the nearest number, ties to even, rounded once. Numbers
/// that are too large become infinite. NaN keeps its sign, and becomes quiet if bits are lost: f16 and bf16 keep the
/// highest bits of its payload that they have room for.
class Cast {
 public:
  /// Casts from any floating-point format to f64, f32, f16 or bf16 in this machine's byte order.
  Cast(const NumberFormat& from, const NumberFormat& to, const CastSteps& steps = cast_steps().front());
  /// As above, with a scaling in between: numbers are rounded to f32, scaled, and rounded to `to`.
  Cast(const NumberFormat& from, const NumberFormat& to, const Scaling& scaling);

  /// Receives the index of each element that is finite at `source` and infinite at `target`.
  using Overflow = std::function<void(std::uint64_t)>;

  /// The ranges may overlap if each element of `target` ends no later than that of `source`.
  void run(const std::byte* source, std::byte* target, std::uint64_t count, const Overflow& overflowed) const;

 private:
  NumberFormat from_;
  NumberFormat to_;
  std::optional<Scaling> scaling_;
  std::vector<CastStep> steps_;  // none: numbers stay unchanged; with a scaling, the steps to f32
  std::vector<CastStep> after_;  // with a scaling, the steps from f32
};

}  // namespace ckpt
