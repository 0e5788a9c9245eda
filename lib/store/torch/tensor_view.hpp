#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/catalog.hpp"
#include "store/torch/pickle.hpp"
#include "tensor/box.hpp"
#include "tensor/dtype.hpp"
#include "tensor/extents.hpp"

namespace ckpt::torch {

/// Where each storage's bytes lie in the file, by its key.
using Storages = std::map<std::string, Interval, std::less<>>;

/// Calls around a tensor: a parameter of a tensor of another device.
inline constexpr int most_wrappers = 8;

/// What makes a tensor of a class of its own, and with attributes, of (function, class, its arguments, attributes).
inline constexpr std::string_view typed_tensor_function = "torch._tensor._rebuild_from_type_v2";

/// What a pickle says of a storage: so many elements of a type.
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

/// A tensor: elements of a storage, from an offset on and with strides, which several may share.
struct TensorView {
  DType dtype;
  Extents shape;
  Extents strides;                      ///< elements
  Interval place;                       ///< in the file, from its first element to the end of its last
  PickleId state = no_node;             ///< the attributes that it has besides
  std::optional<Extents> global_shape;  ///< of what this is a piece of, where it says so,
  std::optional<Piece> piece;           ///< and which
};

/// The storage that a persistent node names. Throws input for a node of another form.
StorageName storage_name(const Pickle& pickle, PickleId persistent);

/// What is said of it. Throws input for types that have no elements of their own (quantised).
StorageClaim storage_claim(const Pickle& pickle, PickleId persistent);

/// All of a storage, as a tensor of one dimension. Throws input as tensor_in does.
TensorView whole_storage(const Pickle& pickle, PickleId persistent, const Storages& storages);

/// The tensor that a node is; nothing for what is none. Throws input for tensors whose bytes are not their values
/// (sparse, quantised, lazily conjugated or negated), that have none (meta), of a class that is not known, and for
/// elements outside their storage.
std::optional<TensorView> tensor_in(const Pickle& pickle, PickleId id, const Storages& storages);

}  // namespace ckpt::torch
