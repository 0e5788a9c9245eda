#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/child_process.hpp"

namespace ckpt {

/// Does work that a hostile file may crash in a process of its own: a child of the HelperProcess, or of this process as
/// long as it has one thread. (A child of a process with several threads may find a lock held by a thread that was not
/// forked with it.) Gives what the work returned, or nothing where no child can be had. An Error that leaves the work
/// is thrown here as it was; a child that crashes or goes beyond its limits is an input error about what it read.
std::optional<std::string> isolated(const IsolatedWork& work);

/// The same for several works, in a process each; with a helper, at the same time. The error is that of the first work
/// that has one; nothing where one of them can have no child.
std::optional<std::vector<std::string>> isolated(std::span<const IsolatedWork> works);

}  // namespace ckpt
