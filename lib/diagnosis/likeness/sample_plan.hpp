#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/likeness/verdict.hpp"
#include "layout/maps/tensor_links.hpp"
#include "tensor/box.hpp"

namespace ckpt::likeness {

/// A tensor that may be sampled.
struct SampledTensor {
  std::string name;
  ParameterId parameter = 0;
  ParameterId other = 0;  ///< its namesake in the other checkpoint
  Shape shape;
  const TensorLinks* links = nullptr;  ///< where its elements lie in the source's tensors; null: in one, unmoved
};

/// The boxes that are read of one tensor.
struct TensorBoxes {
  std::size_t tensor = 0;  ///< its number in what was given
  bool is_cut_anew = false;
  std::vector<Box> boxes;
};

/// Chooses what is read: some tensors of each kind, of each some boxes of 512 elements, or all of a small one. `bytes`:
/// of all tensors; the number of boxes grows with them, from 512 to 16384. The choice depends on nothing else, so that
/// every process makes the same.
std::vector<TensorBoxes> choose_boxes(const std::vector<SampledTensor>& tensors, std::uint64_t bytes);

/// The parts of a box that are judged alone: rows, where it has several with least_block elements each; as intervals of
/// its elements in row-major order. A whole matrix has many, another box is one.
std::vector<Interval> blocks_of(const TensorBoxes& of, std::size_t box, const Shape& shape);

}  // namespace ckpt::likeness
