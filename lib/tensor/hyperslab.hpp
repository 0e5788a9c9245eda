#pragma once

#include <optional>
#include <vector>

#include "tensor/region.hpp"

namespace ckpt {

/// A regular set of an array's elements, as HDF5 has them: in each dimension `count` blocks of `block` indices, one
/// each `stride`. They are counted in the array's row-major order.
struct Hyperslab {
  struct Stripe {
    std::uint64_t start = 0;
    std::uint64_t stride = 1;  ///< 1 where there is one block
    std::uint64_t count = 1;
    std::uint64_t block = 1;

    friend bool operator==(const Stripe&, const Stripe&) = default;
  };

  Extents shape;                ///< the array's
  std::vector<Stripe> stripes;  ///< one for each dimension

  friend bool operator==(const Hyperslab&, const Hyperslab&) = default;
};

/// All elements of an array of this shape.
Hyperslab whole_hyperslab(const Extents& shape);

/// Whether there is at least one element, each is one of the array's, and none is there twice.
bool is_valid(const Hyperslab& hyperslab);

/// The number of its elements.
std::uint64_t volume(const Hyperslab& hyperslab);

/// The elements of a region of an array of this shape; nothing where they are no such set: where nested strides take
/// more than two numbers to say, or a dimension of the box runs from one dimension of the array into the next.
std::optional<Hyperslab> hyperslab_of(const Region& region, const Extents& shape);

/// The elements of a valid hyperslab in order, as the runs of elements of the array that they are.
class HyperslabRuns {
 public:
  explicit HyperslabRuns(const Hyperslab& hyperslab);

  std::uint64_t count() const noexcept { return count_; }                      ///< of elements
  std::uint64_t end() const noexcept { return from(count_ - 1).element + 1; }  ///< behind the last, in the array
  /// How many of them lie before an element of the array, or before its end.
  std::uint64_t before(std::uint64_t element) const noexcept;

  struct Run {
    std::uint64_t element = 0;  ///< of the array, where it begins
    std::uint64_t length = 0;
  };
  /// The rest of a run, from one of the elements on.
  Run from(std::uint64_t number) const noexcept;

 private:
  const Hyperslab& hyperslab_;
  Extents strides_;          // of the array
  std::uint64_t count_ = 1;  // of elements
  std::size_t levels_ = 0;   // dimensions down to the one whose blocks are runs
  std::uint64_t run_ = 1;    // elements of one
};

}  // namespace ckpt
