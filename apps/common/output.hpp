#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace ckpt::cli {

/// Writes to standard output. Throws io.
void print(const std::string& text);

/// The width of the terminal that standard output is; nothing where it is none.
std::optional<std::size_t> output_width();

}  // namespace ckpt::cli
