#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/posix_file.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

/// Elements that lie in a file as they are, but are not contiguous in row-major order: a transposed matrix, every
/// second column, one row that is repeated.
struct StridedData {
  std::uint64_t offset = 0;   ///< byte offset in the file of the first element
  std::uint64_t element = 0;  ///< bytes of one element
  Shape shape;
  Shape strides;  ///< elements from one index of each dimension to the next; may be 0
};

/// A read of a file costs about as much as moving this many bytes (1 µs at 8 GB/s).
inline constexpr std::uint64_t read_cost_bytes = 8192;

/// Returns whether one read for each run of a box's elements costs less than a single read from the first element to
/// the last. Strides are in elements of `element` bytes; a read costs as much as moving `read_cost` bytes.
bool is_sparse(const Shape& shape, const Shape& strides, std::uint64_t element,
               std::uint64_t read_cost = read_cost_bytes);

/// Returns the dimension along which to divide a box, so that adjacent elements stay together: the one with the longest
/// stride among those of more than one index.
std::size_t furthest_dimension(const Shape& shape, const Shape& strides);

/// Reads bytes [first, first + out.size()) of the elements in row-major order; they must exist. Nearby elements come
/// with one read of at most 1 MiB, including the gaps between them.
void read_strided(const PosixFile& file, const StridedData& data, std::uint64_t first, std::span<std::byte> out);

}  // namespace ckpt
