#pragma once

#include <string>
#include <vector>

#include "proof/replicas.hpp"

namespace ckpt {

/// Warns, in one text, of tensors that say nothing of their places beside some that do, and whose elements are all of
/// one value: copies that are the same would also be parts that are. Throws input where flat parameters of FSDP1 stand
/// beside vectors of that kind, which most likely are parts. Nothing is read with ReplicaCheck::trust. Collective; the
/// same on every process.
std::vector<std::string> warnings_of_plain_copies(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
