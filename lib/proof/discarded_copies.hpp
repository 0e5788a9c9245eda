#pragma once

#include <string>
#include <vector>

#include "proof/replicas.hpp"

namespace ckpt {

/// Looks for parameters of two dimensions or more of which `"replicas": "first"` discards copies that look like shards,
/// or like other layers: they differ in blocks along an axis, and in most elements. Reads as much of them as
/// check_replicas does of others. Gives warnings, in which parameters are grouped. Collective; the same on every
/// process.
std::vector<std::string> find_discarded_copies(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
