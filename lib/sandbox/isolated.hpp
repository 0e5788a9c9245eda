#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/child_process.hpp"

namespace ckpt {

/// Does work that a hostile file may crash in a separate process: a child of the HelperProcess, or of this process
/// while it is single-threaded. (A child of a multi-threaded process may find a lock held by a thread that was not
/// forked with it.) Returns the work's result, or nothing if no child can be had. An Error that leaves the work is
/// thrown here unchanged; a child that crashes or exceeds its limits is an input error about what it read.
std::optional<std::string> isolated(const IsolatedWork& work);

/// Does several works, each in a process of its own; with a helper, at the same time. Throws the error of the first
/// work that failed; returns nothing if any of them can have no child.
std::optional<std::vector<std::string>> isolated(std::span<const IsolatedWork> works);

}  // namespace ckpt
