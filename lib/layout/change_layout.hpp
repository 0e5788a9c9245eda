#pragma once

#include <set>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace ckpt {

/// The layout for a checkpoint without these parameters: they are removed from their buckets, and members that borrow
/// from them get the borrowed keys themselves. A bucket without members is removed, too.
Layout without_members(const Layout& layout, const std::set<std::string>& names);

/// Warnings for rules that are used on another mesh (`on_mesh`): buckets with a `multiple_of` that looks as if it had
/// followed the size of their axis, which has changed.
std::vector<std::string> padding_warnings(const Layout& from, const Layout& to);

}  // namespace ckpt
