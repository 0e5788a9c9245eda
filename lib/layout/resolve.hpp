#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// A placement, and warnings for the user (a rule that matches nothing is most likely misspelt).
struct Resolved {
  Placement placement;
  std::vector<std::string> warnings;
  std::vector<std::string> left_out;  ///< names in a source's files that are not in the placement, as not kept; sorted
};

/// Which logical names a job takes; the others are passed over unchecked, but for the datasets of tables.
using Keep = std::function<bool(const std::string& logical_name)>;

/// The logical shape that a parameter is expected to have, where that is known from elsewhere.
using ExpectedShape = std::function<std::optional<Extents>(const std::string& logical_name)>;

/// Checks a layout against what the files of its cards declare (one Holding for each mesh position) and finds every
/// parameter's logical shape. Checks the spec's four conditions; throws input (layout, where it is wrong by itself),
/// naming parameter, cards, what was found and what the layout expects. An absent shard is taken for an empty one only
/// where the layout, the files or `expected` say that it is.
Resolved resolve_source(const Layout& layout, const std::vector<Holding>& files, const Keep& keep = {},
                        const ExpectedShape& expected = {});

/// The logical names of which an array cannot be read (StoredArray::refusal): keeping one of them is an error.
std::set<std::string> unreadable_names(const Layout& layout, const std::vector<Holding>& files);

/// Spreads tensors as a layout says. Throws layout when it cannot hold them; where they are `all` of a checkpoint, also
/// when it has rules and none is for any of them.
Resolved resolve_target(const Layout& layout, const std::vector<Tensor>& tensors, bool are_all = false);

}  // namespace ckpt
