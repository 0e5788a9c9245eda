#pragma once

#include "checkpoint/checkpoint.hpp"
#include "processes/communicator.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// The store of a checkpoint whose directory has an index (Store::index), or null. The index says more than the format
/// of the data files, which other directories may have as well. Process 0 looks: others may see files of their own
/// hosts alone. Collective.
Store* indexed_store(const Checkpoint& checkpoint, Stores& stores, Communicator& processes);

}  // namespace ckpt
