#pragma once

#include <memory>
#include <string>

#include "store/posix_file.hpp"
#include "store/torch/archive.hpp"
#include "tensor/box.hpp"

namespace ckpt::torch {

/// An item of a .distcp file: a zip archive of torch.save with one tensor or one object. As a rule one read tells all
/// of it: the entries' headers lie one behind the other, the pickle first, and the item's size is known. Throws input
/// for what is no such archive; errors name neither file nor tensor.
Archive read_dcp_item(const PosixFile& file, Interval item);

}  // namespace ckpt::torch
