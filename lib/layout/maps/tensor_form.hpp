#pragma once

#include <string>
#include <vector>

#include "layout/maps/map_sizes.hpp"
#include "layout/maps/tensor_template.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

/// An axis that runs along a dimension of a tensor.
struct AxisPlace {
  std::string axis;
  std::uint64_t size = 1;
  std::size_t dim = 0;
  std::uint64_t step = 1;
};

/// The place of a piece in its tensor: index base[d] + Σ step · axis in dimension d.
struct PiecePlace {
  Shape base;
  std::vector<AxisPlace> axes;
};

/// A tensor of a map with its sizes filled in.
class TensorForm {
 public:
  /// `rest`: the sizes of the dimensions that `...` stands for. Throws input if a size is 2^64 or more.
  TensorForm(const TensorTemplate& text, const MapSizes& sizes, std::vector<std::uint64_t> rest);

  /// Without padding.
  const Shape& shape() const noexcept { return shape_; }
  PiecePlace place(std::size_t piece) const;
  /// Returns whether a tensor of this shape has the form; padding may have any length.
  bool fits(const Shape& shape) const;
  /// Returns the dimension that may be padded, or nothing.
  std::optional<std::size_t> padded() const noexcept { return padded_; }
  /// Returns "g=8 q=4 d=128 h=4096".
  std::string sizes_in_words() const;
  /// Returns the change of one size, and of those that follow from it, with which the form fits a shape: "g=4, q=8".
  /// Where padding leaves several, the largest.
  /// Empty if none of the likely ones does.
  std::string fitting_sizes(const Shape& shape) const;

 private:
  std::vector<std::string> axes() const;
  std::uint64_t product(const std::vector<std::string>& axes) const;
  void place_axes(const std::vector<std::string>& axes, std::size_t dim, std::uint64_t step,
                  std::vector<AxisPlace>& to) const;

  const TensorTemplate& text_;
  const MapSizes& sizes_;
  std::vector<std::uint64_t> rest_;
  Shape shape_;
  std::optional<std::size_t> padded_;
};

/// Returns the sizes of the dimensions of a tensor that `...` stands for; nothing if it has too few dimensions, or is
/// to have another number.
std::optional<std::vector<std::uint64_t>> rest_of(const TensorTemplate& text, const Shape& shape);

}  // namespace ckpt
