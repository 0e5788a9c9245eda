#pragma once

#include <string>

namespace emulated {

/// With the runtime's mutex held.
std::string communicators_left();
void discard_communicators();

}  // namespace emulated
