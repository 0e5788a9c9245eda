#pragma once

#include <functional>
#include <string>

#include "base/json.hpp"

namespace ckpt::parsing {

/// Limit on the size of a layout in bytes.
inline constexpr std::size_t max_json_bytes = std::size_t{64} << 20;

/// Parses the JSON of a layout; errors are of kind layout.
nlohmann::json parse_json(const std::string& text, const std::string& origin);

/// Parses a text of any size that contains a layout, such as a manifest: passes the members of its object `streamed` to
/// `visit` instead of keeping them.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const std::string& streamed,
                          const std::function<void(const std::string& name, const nlohmann::json& value)>& visit);

}  // namespace ckpt::parsing
