#pragma once

#include "processes/communicator.hpp"

namespace ckpt {

/// The GPU of this process among those that it sees: by its place on the node, or the only one that a launcher lets it
/// see. Throws io where there is none.
int own_gpu(const Communicator& processes);

}  // namespace ckpt
