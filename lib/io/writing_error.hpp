#pragma once

#include <string>

#include "base/error.hpp"

namespace ckpt {

/// Returns the error of a call that writes to a file, with what helps against it: io.
Error writing_error(const std::string& path, const char* action, int errno_value);

}  // namespace ckpt
