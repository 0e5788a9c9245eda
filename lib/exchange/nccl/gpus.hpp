#pragma once

#include "processes/communicator.hpp"

namespace ckpt {

/// Returns this process's GPU among those that it sees: by its rank on the node, or the only one that a launcher makes
/// visible. Throws io if there is none.
int own_gpu(const Communicator& processes);

}  // namespace ckpt
