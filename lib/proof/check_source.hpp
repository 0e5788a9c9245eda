#pragma once

#include "proof/equalities.hpp"

namespace ckpt {

/// What the bytes of a checkpoint tell of its layout, before anything is made of them: throws where replicas, or
/// parameters that must be equal, differ, and warns of signs that the layout is wrong, unless the checkpoint describes
/// itself. With ReplicaCheck::trust nothing is read. Collective.
void check_source(const EqualFiles& files, Exchange& exchange, Communicator& processes);

}  // namespace ckpt
