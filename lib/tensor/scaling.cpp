#include "tensor/scaling.hpp"

namespace ckpt {

namespace {

/// One pass for each operation: fused into one, as some processors do, they would be rounded once.
template <class Operation>
void each(float* numbers, std::uint64_t count, const Operation& operation) {
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = operation(numbers[i]);
}

}  // namespace

void Scaling::apply(float* numbers, std::uint64_t count) const {
  if (is_inverse) {
    if (plus != 0) each(numbers, count, [this](float x) { return x - plus; });
    if (times != 1) each(numbers, count, [this](float x) { return x / times; });
  } else {
    if (times != 1) each(numbers, count, [this](float x) { return x * times; });
    if (plus != 0) each(numbers, count, [this](float x) { return x + plus; });
  }
}

}  // namespace ckpt
