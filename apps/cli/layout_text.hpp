#pragma once

#include <optional>
#include <string>

#include "jobs/reshard.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// The layout that a file (or, for "-", standard input) holds. Process 0 reads it for all: standard input reaches no
/// other, and a file may lie on its node alone. Collective; throws layout, the same on every process.
Layout read_layout(const std::string& file, Communicator& processes);

}  // namespace ckpt::cli
