#pragma once

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// As `resolve`, but leaves out the arrays that cannot be read (StoredArray::refusal), which have no shape: for showing
/// what is there, not for moving it.
Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected);

}  // namespace ckpt
