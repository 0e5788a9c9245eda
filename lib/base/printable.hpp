#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// Returns a text in a form that is safe to show on one line: the name of a tensor must neither control the terminal
/// nor forge a line of output. Control characters and bytes that are not UTF-8 become `\x1b`; characters that are
/// invisible or reorder others become `\u{202e}`. A backslash is shown as `\x5c` if it would begin such an escape, so
/// that no two texts look alike.
std::string printable(std::string_view text);

/// Does the same for JSON text, with JSON's own escapes. Newlines, which can only occur between values, are kept.
std::string printable_json(std::string_view json);

}  // namespace ckpt
