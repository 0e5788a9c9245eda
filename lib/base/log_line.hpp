#pragma once

#include <string>
#include <string_view>

#include "base/log.hpp"

namespace ckpt::log {

/// A line of standard error, "ckpt-merge: warning: text\n": with the level in colour on a terminal, with the time
/// before it in a file, where it is read later.
std::string line(std::string_view program, Level level, std::string_view text);

}  // namespace ckpt::log
