#pragma once

#include "processes/communicator.hpp"

namespace ckpt {

/// The communicator of a test program's processes. A test case runs on all of them at once: it collects results, and
/// checks when no collective call is left that another process would wait in.
Communicator& test_world();

}  // namespace ckpt
