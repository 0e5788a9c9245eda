#pragma once

#include <cstdint>
#include <functional>

#include "processes/communicator.hpp"

namespace ckpt {

/// Returns by how many nanoseconds this process's clock is ahead of process 0's, which asks each process several times
/// and takes the answer that came soonest: the error is at most half of that time. `now`: the clock. Collective.
std::int64_t clock_ahead(const std::function<std::int64_t()>& now, Communicator& processes);

}  // namespace ckpt
