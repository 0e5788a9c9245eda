#pragma once

#include <string>
#include <vector>

#include "proof/replicas.hpp"

namespace ckpt {

/// Looks for parameters of which `"replicas": "first"` discards copies that look like shards, or like other layers:
/// they differ in blocks along an axis, and in most elements. Those of two dimensions or more (where each card of a
/// single axis has its own, only trained ones), and smaller ones whose names `indices` counts beside them. Reads as
/// much of them as check_replicas does of others. Gives warnings, in which parameters are grouped. Collective; the same
/// on every process.
std::vector<std::string> find_discarded_copies(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
