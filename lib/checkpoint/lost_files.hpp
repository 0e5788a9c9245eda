#pragma once

#include "checkpoint/checkpoint.hpp"

namespace ckpt {

/// Files that are not there are taken to hold nothing: what they should hold is missed, since other files hold parts of
/// it. Not so where parameters that may lie in such a file may live on some cards alone (`at`, `indices`), and none of
/// these cards has its file: throws input then, naming a file and what may be lost with it.
void check_none_is_lost(const Checkpoint& checkpoint);

}  // namespace ckpt
