#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compare/replicas.hpp"

namespace ckpt {

/// Why cards along an axis hold different pieces under one name: `indices` counts over it, or, without `entry`, a
/// tensor is split over it.
struct Spreading {
  Axis axis = 0;
  std::optional<std::uint64_t> entry;  ///< an index into Layout::indices

  friend auto operator<=>(const Spreading&, const Spreading&) = default;
};

/// The data under one name in several cards' files that by the layout differs from card to card: the shards of one
/// parameter, or parameters that `indices` counts with local numbers.
struct Pieces {
  std::vector<ParameterId> parameters;  ///< ascending
  std::vector<Spreading> over;          ///< axes of more than one card
};

/// A card of a first copy, and the parameter of which it holds a piece.
struct PieceHolder {
  Position card = 0;
  ParameterId parameter = 0;
};

/// The pieces of a checkpoint's chosen parameters, in the same order on every process. Leaves out buckets and explicit
/// boxes, whose sizes the layout states, and data that must be decoded in large chunks, unless everything is read
/// anyway.
std::vector<Pieces> pieces_of(const ReplicatedFiles& files);

/// All cards that hold a piece, ascending.
std::vector<PieceHolder> holders_of(const Placement& placement, const Pieces& pieces);

}  // namespace ckpt
