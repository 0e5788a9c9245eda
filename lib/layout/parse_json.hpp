#pragma once

#include <functional>
#include <string>

#include "base/json.hpp"

namespace ckpt::parsing {

/// The largest layout, in bytes.
inline constexpr std::size_t max_json_bytes = std::size_t{64} << 20;

/// Parses the JSON of a layout, with errors of kind layout.
nlohmann::json parse_json(const std::string& text, const std::string& origin);

/// The same for a text of any size that carries a layout, such as a manifest: the members of its object `streamed` are
/// not kept.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const std::string& streamed,
                          const std::function<void(const std::string& name, const nlohmann::json& value)>& visit);

}  // namespace ckpt::parsing
