#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Adds a line, its newline included, to the sum of a set of lines, which depends on neither their order nor their
/// files; `bytes` of the sum counts the lines. One changed word of a line is found with certainty; it is not linear in
/// the lines: one that is lost and another that is doubled are missed once in 2^64 by either half.
void add_line(std::string_view line, PartialSum& sum, KeySets sets = KeySets::both) noexcept;

/// All lines of a text that ends with a newline, or is empty.
void add_lines(std::string_view text, PartialSum& sum) noexcept;

}  // namespace ckpt
