#pragma once

#include <string>

namespace ckpt {

/// Returns this machine's name; "?" if it has none.
std::string host_name();

}  // namespace ckpt
