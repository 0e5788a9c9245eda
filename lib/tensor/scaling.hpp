#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

/// What becomes of each number of a tensor: x · times + plus, or backwards (x − plus) / times. Reckoned in f32, each
/// operation rounded, as numpy does.
struct Scaling {
  float times = 1;
  float plus = 0;
  bool is_inverse = false;

  void apply(float* numbers, std::uint64_t count) const;

  friend bool operator==(const Scaling&, const Scaling&) = default;
};

}  // namespace ckpt
