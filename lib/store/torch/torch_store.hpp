#pragma once

#include "store/store.hpp"

namespace ckpt {

/// Reads and writes what torch.save writes (.pt, .pth, .bin): nothing that such a file says is run. Tensors are reached
/// where they lie. New files have the zip form, protocol 2 of pickle (or the source's), and no checksums of tensors.
std::unique_ptr<Store> torch_store();

}  // namespace ckpt
