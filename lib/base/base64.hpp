#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

/// Encodes bytes as text, with four characters for three bytes, padded with '='. RFC 4648, section 4.
std::string to_base64(std::string_view bytes);

/// Decodes a text from to_base64; returns nothing for a text that it does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace ckpt
