#pragma once

#include "processes/communicator.hpp"

namespace ckpt {

/// Throws usage, naming a process, if not all processes run the same build of the program: two builds may differ in
/// what they send. Collective.
void check_same_build(Communicator& processes);

}  // namespace ckpt
