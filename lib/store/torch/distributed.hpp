#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/catalog.hpp"
#include "store/pickle/pickle.hpp"

namespace ckpt::torch {

/// One rank's part of a distributed tensor, as a job stored it.
struct LocalTensor {
  PickleId tensor = no_node;  ///< no_node: this rank has no part of it, and `dtype` is the type of its elements
  Shape global_shape;
  std::optional<Piece> piece;
  std::optional<DType> dtype;
};

/// Returns the element type in a TensorProperties: the first item of its state, which is a tuple, or an attribute in
/// early versions. Throws input for types that are not of whole bytes.
DType dtype_in(const Pickle& pickle, PickleId properties);

/// Gives the kind of a placement, as torch calls it: "Shard".
using KindOfPlacement = std::string_view (*)(const Pickle& pickle, PickleId placement);

/// Adds to a piece, which has its mesh and as many dimensions as the tensor, how the axes cut it; there is a placement
/// for each axis. Throws input for partial sums.
void cut_by(const Pickle& pickle, const std::vector<PickleId>& placements, KindOfPlacement kind_of, Piece& piece);

/// Parses the state of a DTensor: its local tensor, the axes of its mesh, which of them cut it, and this rank's
/// coordinates. There is no piece if the state has an unknown form. `global_shape` is an argument of the DTensor's
/// constructor. Throws input for partial sums, and for anything that is not a DTensor's state.
LocalTensor local_of_dtensor(const Pickle& pickle, PickleId state, const Shape& global_shape);

/// Parses the state of a ShardedTensor (FSDP1): its local shard and where it belongs. Throws input for several shards.
LocalTensor local_of_sharded_tensor(const Pickle& pickle, PickleId state);

}  // namespace ckpt::torch
