#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// Text as it may be shown on one line, whatever it holds: the name of a tensor must neither control the terminal nor
/// forge a line of output. Control characters and bytes that are not UTF-8 become `\x1b`, characters that cannot be
/// seen or that reorder others `\u{202e}`. A backslash is shown as `\x5c` where it would begin such an escape, so that
/// no two texts are shown alike.
std::string printable(std::string_view text);

/// The same for JSON text, by JSON's own escapes. Newlines, which may only stand between values, are left.
std::string printable_json(std::string_view json);

}  // namespace ckpt
