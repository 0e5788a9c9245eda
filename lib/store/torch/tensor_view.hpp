#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/catalog.hpp"
#include "store/pickle/pickle.hpp"
#include "tensor/box.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt::torch {

/// The place of each storage's bytes in the file, by its key.
using Storages = std::map<std::string, Interval, std::less<>>;

/// Limit on calls around a tensor, such as those of a parameter on another device.
inline constexpr int most_wrappers = 8;

/// The function that makes a tensor of a class of its own, or with attributes, from (function, class, its arguments,
/// attributes).
inline constexpr std::string_view typed_tensor_function = "torch._tensor._rebuild_from_type_v2";

/// A pickle's description of a storage: the number and type of its elements.
struct StorageClaim {
  std::string_view key;
  DType dtype;
  std::uint64_t elements = 0;
};

/// The key and type of a storage. The type may be one whose elements cannot be read.
struct StorageName {
  std::string_view key;
  std::string_view type;  ///< "torch.FloatStorage"
};

/// A tensor: strided elements of a storage, beginning at an offset. Several tensors may share elements.
struct TensorView {
  DType dtype;
  Shape shape;
  Shape strides;                      ///< elements
  Interval place;                     ///< in the file, from its first element to the end of its last
  PickleId state = no_node;           ///< its additional attributes
  std::optional<Shape> global_shape;  ///< the shape of the tensor that this is a piece of, if known,
  std::optional<Piece> piece;         ///< and which piece it is
};

/// Returns the storage that a persistent node names. Throws input for a node of another form.
StorageName storage_name(const Pickle& pickle, PickleId persistent);

/// Returns the description of a storage. Throws input for types without elements of their own (quantised).
StorageClaim storage_claim(const Pickle& pickle, PickleId persistent);

/// Returns a whole storage as a tensor of one dimension. Throws input as tensor_in does.
TensorView whole_storage(const Pickle& pickle, PickleId persistent, const Storages& storages);

/// Returns the tensor that a node represents; nothing if it is none. Throws input for tensors whose bytes are not their
/// values (sparse, quantised, lazily conjugated or negated), without values (meta) or of an unknown class, and for
/// elements outside their storage.
std::optional<TensorView> tensor_in(const Pickle& pickle, PickleId id, const Storages& storages);

}  // namespace ckpt::torch
