#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ckpt {

/// The name that a parameter or another value of a source gets, by its logical name; nothing where it is not taken.
/// Null: all are, as they are. Threads may call it together.
using NewName = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace ckpt
