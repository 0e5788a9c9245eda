#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/likeness/moments.hpp"
#include "tensor/shape.hpp"

namespace ckpt::likeness {

/// Samples of a tensor and of its namesake in another checkpoint.
struct TensorSample {
  std::string name;
  Shape shape;
  bool is_cut_anew = false;     ///< its elements come from several places: each block is judged
  std::vector<Moments> blocks;  ///< of a matrix: boxes, or rows of one box; x: this tensor, y: the other one
  std::vector<float> ours;      ///< of a vector: the first elements of both
  std::vector<float> theirs;

  /// Small tensors have too few numbers to tell chance from likeness: those of all layers are judged together.
  bool is_vector() const { return shape.size() < 2 || numel(shape) < least_block; }

  static constexpr std::uint64_t least_block = 64;  ///< elements: of fewer, chance alone has correlations far from 0
};

/// A tensor whose elements are not those of its namesake, moved a little.
struct Unlike {
  std::size_t sample = 0;
  double correlation = 0;
  std::optional<std::size_t> block;  ///< the one that is least like it; nothing: the whole tensor is not
  std::optional<std::size_t> other;  ///< the sample whose namesake it is like
};

struct Verdict {
  /// Usual correlation of matrices; nothing: no matrix can be judged.
  std::optional<double> typical;
  bool is_same_training = false;  ///< else the other checkpoint is of another training, and nothing tells
  double least = 0;               ///< a correlation below that is none of elements in their places
  std::vector<Unlike> unlike;

  bool can_tell() const { return typical && is_same_training; }
};

/// Judges whether tensors are another checkpoint's of the same training, or its elements in other places. Training
/// moves weights little: elements in their places correlate, exchanged ones do not. tests/names/likeness.py has the
/// measures, and what they were tried on.
Verdict judge(const std::vector<TensorSample>& samples);

/// The name with # for each part that is a number: tensors of one kind in all layers.
std::string kind_of(const std::string& name);

/// The name up to its last number, "model.layers.3"; empty without one.
std::string layer_of(const std::string& name);

}  // namespace ckpt::likeness
