#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ckpt {

/// Limits for a JSON document, which no honest one comes near and which keep a hostile one from exhausting memory; and
/// the words for the error when one exceeds them.
struct JsonRules {
  Kind kind = Kind::input;
  std::string expected;  ///< "a layout"
  std::string remedy;    ///< for text that is not JSON; may be empty
  std::size_t max_depth = 32;
  std::size_t max_values = std::size_t{1} << 23;
};

/// Parses JSON strictly: one value of valid UTF-8 without unpaired surrogates or NULs, no comments, no key twice in one
/// object. Throws an error of the rules' kind with the line and column of a syntax error, the JSON pointer of anything
/// else.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const JsonRules& rules);

/// The same for a document that is mostly one object of its top level, `streamed`: each of its members is given to
/// `visit` as soon as it is whole, and not kept, so that max_values bounds one of them. A name may come twice.
nlohmann::json parse_json(const std::string& text, const std::string& origin, const JsonRules& rules,
                          const std::string& streamed,
                          const std::function<void(const std::string& name, const nlohmann::json& value)>& visit);

/// A key as written in a JSON pointer (RFC 6901): ~ and / escaped.
std::string pointer_token(const std::string& key);

}  // namespace ckpt
