#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tensor/number.hpp"

namespace ckpt {

/// One pass over a block of numbers, from one type of this machine to another. Gives how many finite ones became
/// infinite. The ranges must not overlap.
using CastStep = std::uint64_t (*)(const std::byte* from, std::byte* to, std::uint64_t count);

/// The steps of every cast, in one set of instructions.
struct CastSteps {
  CastStep f64_to_f32;
  CastStep f64_to_odd_f32;  ///< an inexact number becomes the neighbour whose last bit is 1: it can be rounded again
  CastStep f32_to_f64;
  CastStep f32_to_f16;
  CastStep f32_to_bf16;
  CastStep f16_to_f32;
  CastStep bf16_to_f32;
  CastStep e4m3_to_f32;
  CastStep e5m2_to_f32;
};

/// What this processor can run, the fastest first; all give the same.
std::span<const CastSteps> cast_steps();

/// Casts floating-point numbers from one format to another: to the nearest number, ties to even, rounded once. Larger
/// ones become infinite. NaN keeps its sign and is quiet where bits are lost: in f16 with what it has room for, in bf16
/// without the rest.
class Cast {
 public:
  /// From any floating-point format to f64, f32, f16 or bf16 in this machine's byte order.
  Cast(const NumberFormat& from, const NumberFormat& to, const CastSteps& steps = cast_steps().front());

  /// Where it is told of elements that are finite at `source` and infinite at `target`, by their numbers.
  using Overflow = std::function<void(std::uint64_t)>;

  /// The ranges may overlap where each of `target` ends no later than that of `source`.
  void run(const std::byte* source, std::byte* target, std::uint64_t count, const Overflow& overflowed) const;

 private:
  NumberFormat from_;
  NumberFormat to_;
  std::vector<CastStep> steps_;  // none: the numbers stay as they are
};

}  // namespace ckpt
