#pragma once

#include "store/store.hpp"

namespace ckpt {

/// MindSpore's checkpoints (.ckpt): a run of protobuf records. Tensors are reached where they lie, in the slices that
/// MindSpore cuts large ones into. A CRC is compared when a file is first opened for its data, and
/// written where one is asked for.
std::unique_ptr<Store> mindspore_store();

}  // namespace ckpt
