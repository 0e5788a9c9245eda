#include "store/torch/view_dataset.hpp"

namespace ckpt::torch {

namespace {

bool is_row_major(const TensorView& view) {
  const Shape strides = row_major_strides(view.shape);
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] > 1 && view.strides[d] != strides[d]) return false;
  return true;
}

}  // namespace

Dataset dataset_of(const TensorView& view) {
  Dataset dataset;
  dataset.piece = view.piece;
  if (view.place.empty()) return dataset;
  dataset.storage = is_row_major(view) ? Storage::raw : Storage::strided;
  dataset.extents = FileExtents(view.place.lo, view.place.size());
  if (dataset.storage == Storage::strided) dataset.strides = view.strides;
  return dataset;
}

}  // namespace ckpt::torch
