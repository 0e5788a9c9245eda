#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"
#include "tensor/number.hpp"
#include "tensor/region.hpp"

namespace ckpt {

/// How far apart floating-point elements may be and still agree: either measure suffices.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// A summary of the elements of one parameter that differ between two checkpoints, A and B. The order of additions does
/// not matter, so threads and processes need none.
struct Mismatch {
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::uint64_t count = 0;     ///< in all copies that B holds
  std::uint64_t first = none;  ///< in the tensor's row-major order
  Position first_card = none;  ///< of B
  std::string first_a;         ///< first_a and first_b: the values as text
  std::string first_b;
  Distance largest;
  std::vector<bool> cards;  ///< by B's cards: whether it holds such elements

  void add(const Mismatch& other);
};

/// The index of an element, from its number in a tensor's row-major order.
Shape index_of(std::uint64_t number, const Shape& shape);

/// The conditions under which elements with different bytes agree.
struct Agreement {
  std::optional<Tolerance> tolerance = {};  ///< for floating-point elements
  bool is_rounded = false;                  ///< they agree if A's, rounded to B's dtype, is B's
};

/// Compares the elements of one parameter. A and B may have different floating-point dtypes if there is a tolerance, or
/// A's elements are rounded.
class TensorComparison {
 public:
  TensorComparison(const Tensor& a, const Tensor& b, const Agreement& agreement);

  /// Adds the elements of `region` (on a card of B) that differ. `a` and `b` hold the same run of stored elements;
  /// region.offset counts from its beginning.
  void compare(const Region& region, Position card, const std::byte* a, const std::byte* b, Mismatch& found) const;

 private:
  struct Walk;
  void descend(Walk& walk, std::size_t dim, std::uint64_t offset, std::uint64_t index) const;
  bool is_same_row(const std::byte* a, const std::byte* b, std::uint64_t elements) const;
  void compare_element(Walk& walk, std::uint64_t offset, std::uint64_t index) const;

  DType a_;
  DType b_;
  std::optional<NumberFormat> a_format_;
  std::optional<NumberFormat> b_format_;
  Agreement agreement_;
  Shape strides_;  // of the logical tensor
};

}  // namespace ckpt
