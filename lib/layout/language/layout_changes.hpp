#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"

namespace ckpt {

/// A layout with one change.
struct LayoutChange {
  std::string what;  ///< the changed key: `"mesh": {"axes": ["pp", "dp"], "shape": [4, 2]}`
  Layout layout;
};

/// Returns layouts with the mesh's axes, including their sizes, in every other order, and with the sizes assigned to
/// other axes. None for meshes of more than five axes.
std::vector<LayoutChange> other_meshes(const Layout& layout);

/// Returns patterns for an entry of `indices`, such as "layers.{i}.*", from the words before standalone numbers in
/// these names, with a leading "*" if anything precedes them.
std::vector<std::string> counter_patterns(const std::vector<std::string>& names);

/// Returns layouts that count more of the numbers in these names, each over each of the axes, and two of them over two.
std::vector<LayoutChange> more_counts(const Layout& layout, const std::vector<std::string>& names);

/// Returns layouts with each entry of `indices` over another axis, with the other numbering, and with the total that
/// the names indicate.
std::vector<LayoutChange> other_counts(const Layout& layout);

/// Returns layouts in which a rule, given by its index in `parameters`, splits over as many axes in every other way;
/// over one axis if it does not split.
std::vector<LayoutChange> other_splits(const Layout& layout, std::size_t rule_number);

}  // namespace ckpt
