#pragma once

#include <string>
#include <vector>

#include "compare/replicas.hpp"

namespace ckpt {

/// Warns, in one text, of tensors without a recorded place, beside tensors that have one, whose elements all have one
/// value: equal copies and equal parts look alike. Throws input if vectors of that kind accompany flat parameters of
/// FSDP1, because most of these are parts. Reads nothing with ReplicaCheck::trust. Collective; every process gets the
/// same warnings.
std::vector<std::string> warnings_of_plain_copies(const ReplicatedFiles& files, Communicator& processes);

}  // namespace ckpt
