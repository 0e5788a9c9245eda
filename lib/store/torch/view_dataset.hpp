#pragma once

#include "store/catalog.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// Returns how to read a tensor's elements: by offset, and with strides if they are not in row-major order.
Dataset dataset_of(const TensorView& view);

}  // namespace ckpt::torch
