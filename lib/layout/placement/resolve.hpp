#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// A placement, and warnings for the user (a rule that matches nothing is most likely misspelt).
struct Resolved {
  Placement placement;
  std::vector<std::string> warnings;
  std::vector<std::string> left_out;  ///< names in a source's files that are not kept and so not in the placement;
                                      ///< sorted
};

/// Returns whether a job takes a logical name; other names are skipped unchecked, except the datasets of tables.
using Keep = std::function<bool(const std::string& logical_name)>;

/// Returns the logical shape that a parameter is expected to have, if it is known from elsewhere.
using ExpectedShape = std::function<std::optional<Shape>(const std::string& logical_name)>;

/// Checks a layout against the declarations in the files of its cards (one Holding for each mesh position), and
/// determines every parameter's logical shape. Checks the spec's four conditions; throws input (layout, if the layout
/// is wrong in itself), naming parameter, cards, what was found and what the layout expects. A missing shard counts as
/// an empty one only if the layout, the files or `expected` say that it is. `hidden`: logical names of tensors that are
/// not shown, whose rules are in use.
Resolved resolve_source(const Layout& layout, const std::vector<CardArrays>& files, const Keep& keep = {},
                        const ExpectedShape& expected = {}, const std::set<std::string>& hidden = {});

/// Returns the logical names with an array that cannot be read (StoredArray::refusal): keeping one of them is an error.
std::set<std::string> unreadable_names(const Layout& layout, const std::vector<CardArrays>& files);

/// Spreads tensors as a layout says. Throws layout if it cannot hold them; if they are `all` of a checkpoint, also if
/// it has rules but none matches any of them.
Resolved resolve_target(const Layout& layout, const std::vector<Tensor>& tensors, bool are_all = false);

}  // namespace ckpt
