#pragma once

#include <string>
#include <vector>

#include "compare/replicas.hpp"

namespace ckpt {

/// Looks for parameters of which `"replicas": "first"` discards copies that look like shards, or like other layers:
/// they differ in blocks along an axis, and in most elements. Examines parameters of two dimensions or more (only
/// trained ones if each card of a single axis has its own), and smaller ones whose names `indices` counts beside them.
/// Reads as much of them as check_replicas does of others. Returns warnings, each for a group of parameters.
/// Collective; the same on every process.
std::vector<std::string> find_discarded_copies(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
