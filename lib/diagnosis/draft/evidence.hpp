#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/mismatch.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt::drafting {

/// Reads what cards store.
class CardData {
 public:
  virtual ~CardData() = default;
  /// Reads a run of elements of an array that a card stores. Throws input, naming the file.
  virtual void read(Position card, const std::string& stored, Interval elements, std::span<std::byte> out) = 0;
};

/// The whole tensors, from another source, that the cards' pieces are to make.
class WholeTensors {
 public:
  virtual ~WholeTensors() = default;
  /// Sorted by name.
  virtual const std::vector<Tensor>& tensors() const = 0;
  /// Whether elements can be read; else only names, shapes and dtypes are known.
  virtual bool has_data() const = 0;
  /// How near they are to the cards' elements, if they are of another step; absent: of the same one.
  virtual std::optional<Tolerance> tolerance() const { return std::nullopt; }
  /// Reads the elements of a box, in row-major order and in the reference's own dtype. Throws input, naming the file.
  virtual void read(const std::string& name, const Box& box, std::span<std::byte> out) = 0;

  /// Null if there is no tensor of that name.
  const Tensor* find(const std::string& name) const;
};

/// Whether equal elements of these types have equal bytes: one type, in whatever form a file holds it.
bool have_same_bytes(const DType& ours, const DType& theirs);

/// Whether elements of these types can be compared by their bytes: one type, or two floating-point types.
bool are_comparable(const DType& ours, const DType& theirs);

/// Whether elements are the same: byte by byte, or with those of the wider type rounded to the other.
bool are_same(const DType& ours, std::span<const std::byte> a, const DType& theirs, std::span<const std::byte> b);

/// Compares runs of elements: without a tolerance each must be the same. With one, floating-point elements must be near
/// on the whole: the root mean square of the differences is judged by the spread of the values about their mean. By the
/// values themselves, gains about 1 would be near one another in any order.
class Likeness {
 public:
  Likeness(const DType& ours, const DType& theirs, std::optional<Tolerance> tolerance);

  void add(std::span<const std::byte> ours, std::span<const std::byte> theirs);
  bool holds() const;
  /// The root mean square of the differences, divided by the larger side's standard deviation; 0 without a tolerance.
  double relative_difference() const;

 private:
  struct Sums {
    double first = 0;  ///< the others are summed relative to it, lest a small spread about a large mean be lost
    double sum = 0;
    double squares = 0;
    std::uint64_t count = 0;

    void add(double value);
    /// The sum of the squares of the distances from the mean.
    double spread() const;
  };

  DType ours_;
  DType theirs_;
  std::optional<Tolerance> tolerance_;
  bool are_same_ = true;
  Sums ours_sums_;
  Sums theirs_sums_;
  double squares_between_ = 0;
};

}  // namespace ckpt::drafting
