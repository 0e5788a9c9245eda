#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/compare.hpp"

namespace ckpt::cli {

/// Two checkpoints as the user named them.
struct ComparedPaths {
  std::string a;
  std::string b;
};

/// What differs as a table, with lines of at most `width` characters where there is a width; and what came of it all.
std::string comparison_text(const ComparedPaths& paths, const Comparison& comparison, std::optional<std::size_t> width);

std::string comparison_json(const ComparedPaths& paths, const Comparison& comparison,
                            const std::optional<Tolerance>& tolerance);

}  // namespace ckpt::cli
