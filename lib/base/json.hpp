#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ckpt {

/// Limits for a JSON document, far above any honest one, which keep a hostile one from exhausting memory; and the words
/// for the error if one exceeds them.
struct JsonRules {
  Kind kind = Kind::input;
  std::string expected;  ///< "a layout"
  std::string remedy;    ///< for text that is not JSON; may be empty
  std::size_t max_depth = 32;
  std::size_t max_values = std::size_t{1} << 23;
};

/// Parses JSON strictly: one value of valid UTF-8 without unpaired surrogates, NULs, comments or duplicate keys. Throws
/// an error of the rules' kind with the line and column of a syntax error, or the JSON pointer of anything else.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const JsonRules& rules);

/// Parses a document that is mostly one object of its top level, `streamed`: passes each of its members to `visit` as
/// soon as it is complete, without keeping it, so that max_values limits a single member. A name may occur twice.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const JsonRules& rules,
                          const std::string& streamed,
                          const std::function<void(const std::string& name, const nlohmann::json& value)>& visit);

/// Escapes a key for a JSON pointer (RFC 6901): ~ and /.
std::string pointer_token(const std::string& key);

}  // namespace ckpt
