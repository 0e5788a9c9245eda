#pragma once

#include <functional>
#include <span>
#include <vector>

#include "store/posix_file.hpp"
#include "tensor/box.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// What of a file lies in none of the intervals `data` (headers, attributes, gaps), ascending, in pieces of bounded
/// size. The intervals may come in any order, overlap, and go beyond the file.
std::vector<Interval> outside(std::vector<Interval> data, std::uint64_t file_bytes);

/// Reads ascending pieces, those that lie close together at once, and calls `visit(offset, bytes)` for each until it
/// returns false; then gives false.
bool for_each_piece(const PosixFile& file, const std::vector<Interval>& pieces,
                    const std::function<bool(std::uint64_t, std::span<const std::byte>)>& visit);

/// Sums what lies in none of the intervals `data`, by its offset in the file.
PartialSum sum_outside(const PosixFile& file, std::uint64_t file_bytes, std::vector<Interval> data);

}  // namespace ckpt
