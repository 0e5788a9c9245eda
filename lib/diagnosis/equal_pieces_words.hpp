#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/equal_pieces.hpp"

namespace ckpt {

/// Returns the layout's text with an axis for copies, as layout_with_copies does.
using WriteWithCopies =
    std::function<std::string(const AxisCopies&, ParameterId example, const std::set<std::uint64_t>& counted_on)>;

/// Describes equal pieces in words: one warning for each split, and for each entry of `indices`, that several have in
/// common. Pieces that `indices` counts are reported only if all pieces that it counts over that axis are equal: layers
/// may have tables that are the same in each.
std::vector<std::string> describe_equal_pieces(const Placement& placement, const PieceFindings& findings,
                                               const WriteWithCopies& write);

/// The warnings for the findings of find_equal_pieces. Collective; the same on every process.
std::vector<std::string> warnings_of_equal_pieces(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
