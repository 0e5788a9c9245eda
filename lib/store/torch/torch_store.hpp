#pragma once

#include "store/store.hpp"

namespace ckpt {

/// Reads and writes the files of torch.save (.pt, .pth, .bin) without executing anything in them. Tensors are read in
/// place. New files have the zip form, pickle protocol 2 (or the source's), and no checksums of tensors.
std::unique_ptr<Store> torch_store();

}  // namespace ckpt
