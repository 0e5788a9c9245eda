#pragma once

#include "compare/equalities.hpp"

namespace ckpt {

/// Checks a checkpoint's bytes against its layout before anything is made from them: throws if replicas, or parameters
/// that must be equal, differ, and warns of signs that the layout is wrong, unless the checkpoint describes itself.
/// Reads nothing with ReplicaCheck::trust. Collective.
void check_source(const EqualFiles& files, Exchange& exchange, Communicator& processes);

}  // namespace ckpt
