#pragma once

#include <functional>
#include <span>
#include <vector>

#include "io/posix_file.hpp"
#include "tensor/box.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Returns the parts of a file outside the intervals `data` (headers, attributes, gaps), ascending, in pieces of
/// bounded size. The intervals may come in any order, overlap, and extend beyond the file.
std::vector<Interval> outside(std::vector<Interval> data, std::uint64_t file_bytes);

/// Reads ascending pieces, adjacent ones together, and calls `visit(offset, bytes)` for each until it returns false.
/// Returns false in that case.
bool for_each_piece(const PosixFile& file, const std::vector<Interval>& pieces,
                    const std::function<bool(std::uint64_t, std::span<const std::byte>)>& visit);

/// Sums the bytes outside the intervals `data`, by their offsets in the file.
PartialSum sum_outside(const PosixFile& file, std::uint64_t file_bytes, std::vector<Interval> data);

}  // namespace ckpt
