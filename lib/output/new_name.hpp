#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ckpt {

/// The name that a parameter or another value of a source gets, by its logical name; nothing if it is not taken. A null
/// function takes everything under its own name. Threads may call it together.
using NewName = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace ckpt
