#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace ckpt::parsing {

/// Bounds of a layout file: what no honest one comes near, and what keeps a hostile one from exhausting memory.
inline constexpr std::size_t max_json_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_json_depth = 32;
inline constexpr std::size_t max_json_values = std::size_t{1} << 23;

/// Parses JSON strictly: no comments, no key twice in one object, bounded depth and size. Throws layout with the line
/// and column of a syntax error, the JSON pointer of anything else.
nlohmann::json parse_json(const std::string& text, const std::string& origin);

/// The same for a text of any size that is mostly one object of the document's top level, `streamed`: each of its
/// members is given to `visit` as soon as it is whole, and not kept. A name may come twice.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const std::string& streamed,
                          const std::function<void(const std::string& name, const nlohmann::json& value)>& visit);

/// A key as it stands in a JSON pointer (RFC 6901): ~ and / escaped.
std::string pointer_token(const std::string& key);

}  // namespace ckpt::parsing
