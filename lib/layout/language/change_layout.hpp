#pragma once

#include <set>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"

namespace ckpt {

/// Returns the layout for a checkpoint without these parameters: they are removed from their buckets, and members that
/// borrow from them get the borrowed keys themselves. Buckets that become empty are removed, too.
Layout without_members(const Layout& layout, const std::set<std::string>& names);

/// Cuts what rules and members of buckets split, where they do not say how, in this way if it does not divide.
void cut_unevenly(Layout& layout, Uneven uneven);

/// Returns warnings about rules that are used on another mesh (`on_mesh`): buckets whose `multiple_of` seems to depend
/// on the size of their axis, which has changed.
std::vector<std::string> padding_warnings(const Layout& from, const Layout& to);

}  // namespace ckpt
