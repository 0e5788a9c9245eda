#pragma once

#include <optional>
#include <vector>

#include "tensor/region.hpp"

namespace ckpt {

/// A regular set of an array's elements, as in HDF5: in each dimension `count` blocks of `block` indices, `stride`
/// apart. Elements are numbered in the array's row-major order.
struct Hyperslab {
  struct Stripe {
    std::uint64_t start = 0;
    std::uint64_t stride = 1;  ///< 1 for a single block
    std::uint64_t count = 1;
    std::uint64_t block = 1;

    friend bool operator==(const Stripe&, const Stripe&) = default;
  };

  Shape shape;                  ///< the shape of the array
  std::vector<Stripe> stripes;  ///< one for each dimension

  bool is_consistent() const noexcept { return stripes.size() == shape.size(); }

  friend bool operator==(const Hyperslab&, const Hyperslab&) = default;
};

/// Returns all elements of an array of this shape.
Hyperslab whole_hyperslab(const Shape& shape);

/// Returns whether there is at least one element, all are within the array, and none occurs twice.
bool is_valid(const Hyperslab& hyperslab);

/// Returns the number of its elements.
std::uint64_t numel(const Hyperslab& hyperslab);

/// Returns the elements of a region of an array of this shape; nothing if they are not a hyperslab: if nested strides
/// take more than two numbers to describe, or a dimension of the box crosses from one dimension of the array into the
/// next.
std::optional<Hyperslab> hyperslab_of(const Region& region, const Shape& shape);

/// The elements of a valid hyperslab in order, as runs of elements of the array.
class HyperslabRuns {
 public:
  explicit HyperslabRuns(const Hyperslab& hyperslab);

  std::uint64_t count() const noexcept { return count_; }                      ///< number of elements
  std::uint64_t end() const noexcept { return from(count_ - 1).element + 1; }  ///< after the last, in the array
  /// Returns how many of them precede an element of the array, or its end.
  std::uint64_t before(std::uint64_t element) const noexcept;

  struct Run {
    std::uint64_t element = 0;  ///< index in the array of its first element
    std::uint64_t length = 0;
  };
  /// Returns the rest of a run, starting at one of the elements.
  Run from(std::uint64_t number) const noexcept;

 private:
  const Hyperslab& hyperslab_;
  Shape strides_;            // of the array
  std::uint64_t count_ = 1;  // of elements
  std::size_t levels_ = 0;   // dimensions down to the one whose blocks are runs
  std::uint64_t run_ = 1;    // elements of one run
};

}  // namespace ckpt
