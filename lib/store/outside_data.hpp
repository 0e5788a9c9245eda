#pragma once

#include <vector>

#include "store/posix_file.hpp"
#include "tensor/box.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Sums the bytes of a file that lie in none of the intervals `data` (headers, attributes, gaps), by their offset in
/// the file.
PartialSum sum_outside(const PosixFile& file, std::uint64_t file_bytes, std::vector<Interval> data);

}  // namespace ckpt
