#pragma once

#include "store/catalog.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// How a tensor's elements are reached: by offset, with strides where they are not in row-major order.
Dataset dataset_of(const TensorView& view);

}  // namespace ckpt::torch
