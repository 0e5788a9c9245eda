#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/replicas.hpp"
#include "diagnosis/axis_copies.hpp"

namespace ckpt {

/// Why cards along an axis hold different pieces under one name: `indices` counts over it, or, without `entry`, a
/// tensor is split over it.
struct SplitAxis {
  Axis axis = 0;
  std::optional<std::uint64_t> entry;  ///< an index into Layout::indices

  friend auto operator<=>(const SplitAxis&, const SplitAxis&) = default;
};

/// Pieces that are the same although the layout says that they differ.
struct EqualPieces {
  std::uint64_t number = 0;             ///< position in the order of the stored names
  std::vector<ParameterId> parameters;  ///< stored under one name: one, or those that `indices` counts there
  SplitAxis over;
  AxisCopies copies;
};

struct PieceFindings {
  std::vector<EqualPieces> equal;
  std::map<SplitAxis, ParameterId> distinct;  ///< a parameter whose pieces differ along an axis, as they should
};

/// Searches everything that the layout splits, or counts with local numbers, for copies along these axes: the sign of a
/// replicated parameter that the layout splits, or of an axis of copies that the mesh lacks. Pieces of fewer than four
/// different values prove nothing. Reads one block of at most 4 KiB from one card and from those that may hold its
/// copies; if some agree, reads from all cards as much as `files.extent` says (nothing at all with
/// ReplicaCheck::trust). Collective; the same on every process.
PieceFindings find_equal_pieces(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
