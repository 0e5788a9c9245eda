#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

/// Bytes as text of four characters for three bytes, padded with '='. RFC 4648, section 4.
std::string to_base64(std::string_view bytes);

/// What that wrote; nothing for a text that it does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace ckpt
