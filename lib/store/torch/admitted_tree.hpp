#pragma once

#include <string>

namespace ckpt::torch {

/// A carried tree that stood in a file of another format, read and written once more in a process of its own: whatever
/// it was, it is one that can be read. Throws input for what is none.
std::string admitted_tree(const std::string& tree);

}  // namespace ckpt::torch
