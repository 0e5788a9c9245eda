#pragma once

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// As `resolve`, but without the arrays that cannot be read (StoredArray::refusal), which have no shape: to show what is
/// there, not to move it.
Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected);

}  // namespace ckpt
