#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// A layout with one thing said otherwise.
struct LayoutChange {
  std::string what;  ///< how it is said then: `"mesh": {"axes": ["pp", "dp"], "shape": [4, 2]}`
  Layout layout;
};

/// The mesh with its axes in every other order, their sizes going with them, and with its sizes belonging to others of
/// the axes. None for meshes of more than five axes.
std::vector<LayoutChange> other_meshes(const Layout& layout);

/// "layers.{i}.*": what an entry of `indices` would count, by the words before numbers that stand alone in these names,
/// with a "*" where something stands before them.
std::vector<std::string> counter_patterns(const std::vector<std::string>& names);

/// Numbers in these names counted that the layout does not count, each over each of the axes, and two of them over two.
std::vector<LayoutChange> more_counts(const Layout& layout, const std::vector<std::string>& names);

/// Each entry of `indices` over another axis, with the other numbering, and with as large a total as the names tell.
std::vector<LayoutChange> other_counts(const Layout& layout);

/// A rule, by its place in `parameters`, with its `split` over as many axes in every other way; over one where it does
/// not split.
std::vector<LayoutChange> other_splits(const Layout& layout, std::size_t rule_number);

}  // namespace ckpt
