#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "proof/equal_pieces.hpp"

namespace ckpt {

/// Gives how the layout would be written with an axis for copies, as layout_with_copies does.
using WriteWithCopies =
    std::function<std::string(const AxisCopies&, ParameterId example, const std::set<std::uint64_t>& counted_on)>;

/// Pieces that are equal in words: a warning for each split, and each entry of `indices`, that several have in common.
/// Those that `indices` counts are told of only where all are alike that it counts over that axis: layers may have
/// tables that are the same in each.
std::vector<std::string> describe_equal_pieces(const Placement& placement, const PieceFindings& findings,
                                               const WriteWithCopies& write);

/// The warnings of what find_equal_pieces finds. Collective; the same on every process.
std::vector<std::string> warnings_of_equal_pieces(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
