#pragma once

#include "store/store.hpp"

namespace ckpt {

/// MindSpore's checkpoints (.ckpt): a sequence of protobuf records. Tensors are read in place, from the slices into
/// which MindSpore cuts large ones. A CRC is compared when a file is first opened for its data, and written on request.
std::unique_ptr<Store> mindspore_store();

}  // namespace ckpt
