#pragma once

#include "base/error.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// Returns the error of one process, which says on which host it came about, if there are several: "a/rank_0.h5 (on
/// h2): open: Permission denied". Errors of usage and layout are the same on all, and those about another process name
/// it: they stay as they are.
Error naming_host(const Error& error, int rank, const Communicator& processes);

}  // namespace ckpt
