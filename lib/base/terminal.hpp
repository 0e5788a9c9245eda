#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// Whether a descriptor is a terminal that can do more than print one line after another.
bool is_terminal(int descriptor);

/// Whether what is written to a descriptor may have colours: on a terminal, unless NO_COLOR is set (no-color.org).
bool shows_colours(int descriptor);

enum class Ink { bold, red, yellow };

/// The text in an ink, as terminals understand it.
std::string inked(Ink ink, std::string_view text);

/// Headings, lines that end with a colon and are not indented, in bold.
std::string with_bold_headings(std::string_view text);

}  // namespace ckpt
