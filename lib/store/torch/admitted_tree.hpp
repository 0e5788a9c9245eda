#pragma once

#include <string>

namespace ckpt::torch {

/// Parses a carried tree that was kept in a file of another format, and writes it anew, in a process of its own:
/// whatever the input was, the result can be read. Throws input if it is not a carried tree.
std::string admitted_tree(const std::string& tree);

}  // namespace ckpt::torch
