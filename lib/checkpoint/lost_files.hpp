#pragma once

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// A missing file counts as empty: if it should hold something, the loss shows, since other files hold parts of the
/// same tensors. That fails where parameters that may lie in such a file may live on some cards alone (`at`, `indices`)
/// and none of these cards has its file: throws input then, naming a file and what may be lost with it.
void check_none_is_lost(const Checkpoint& checkpoint);

}  // namespace ckpt
