#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Adds a line, its newline included, to the sum of a set of lines, which depends neither on their order nor on their
/// files; `bytes` of the sum counts the lines. A change of one word of a line is always detected. The sum is not linear
/// in the lines: if one is lost and another doubled, each half misses it once in 2^64.
void add_line(std::string_view line, PartialSum& sum, KeySets sets = KeySets::both) noexcept;

/// Adds all lines of a text that is empty, or ends with a newline.
void add_lines(std::string_view text, PartialSum& sum) noexcept;

}  // namespace ckpt
