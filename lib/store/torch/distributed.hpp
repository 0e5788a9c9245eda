#pragma once

#include <optional>

#include "store/catalog.hpp"
#include "store/torch/pickle.hpp"

namespace ckpt::torch {

/// The tensor that a rank of a job has stored of a distributed one.
struct LocalTensor {
  PickleId tensor = no_node;  ///< no_node: this rank has none of it, and `dtype` tells its elements
  Extents global_shape;
  std::optional<Piece> piece;
  std::optional<DType> dtype;
};

/// The type of a TensorProperties' elements: the first of its state, a tuple, and in early versions an attribute.
/// Throws input for types that are not of whole bytes.
DType dtype_in(const Pickle& pickle, PickleId properties);

/// What the state of a DTensor says: its local tensor, the axes of its mesh, which of them cut it, and where this rank
/// is on them; no piece where it says that in a form that is not known. `global_shape` is what its constructor is told.
/// Throws input for partial sums, and for what is none.
LocalTensor local_of_dtensor(const Pickle& pickle, PickleId state, const Extents& global_shape);

/// What the state of a ShardedTensor (FSDP1) says: its local shard and where it belongs. Throws input for several.
LocalTensor local_of_sharded_tensor(const Pickle& pickle, PickleId state);

}  // namespace ckpt::torch
