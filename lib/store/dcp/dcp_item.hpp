#pragma once

#include <memory>
#include <string>

#include "io/posix_file.hpp"
#include "store/zip/archive.hpp"
#include "tensor/box.hpp"

namespace ckpt::torch {

/// Reads an item of a .distcp file: a zip archive of torch.save with one tensor or one object. Usually one read
/// suffices: the entries' headers are contiguous, the pickle comes first, and the item's size is known. Throws input if
/// it is no such archive; errors name neither file nor tensor.
Archive read_dcp_item(const PosixFile& file, Interval item);

}  // namespace ckpt::torch
