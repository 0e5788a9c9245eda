#pragma once

#include <string>
#include <vector>

#include "layout/names/pattern.hpp"

namespace ckpt {

/// What to write instead of a pattern that matches none of these names, in words: a pattern that would match some
/// (everything below a group or a dict, or all names that contain the text), else the nearest names. `before`: what the
/// user writes before such a pattern.
std::string better_pattern(const Pattern& pattern, const std::vector<std::string>& names,
                           const std::string& before = "");

}  // namespace ckpt
