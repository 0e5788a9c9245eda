#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "store/posix_file.hpp"
#include "tensor/extents.hpp"

namespace ckpt {

/// Elements that lie in a file as they are, but not in row-major order one after another: a transposed matrix, every
/// second column, one row that stands for many.
struct StridedData {
  std::uint64_t offset = 0;   ///< of the first element in the file, in bytes
  std::uint64_t element = 0;  ///< bytes of one
  Extents shape;
  Extents strides;  ///< elements from one index of each dimension to the next; may be 0
};

/// Whether a read for each run of a box's elements costs less than one of all that lies between the first and the last.
/// Strides are in elements of so many bytes.
bool is_sparse(const Extents& shape, const Extents& strides, std::uint64_t element);

/// The dimension along which a box is best divided, so that what lies together stays together: of more than one index,
/// with the longest stride.
std::size_t furthest_dimension(const Extents& shape, const Extents& strides);

/// Bytes [first, first + out.size()) of the elements in row-major order; they must be there. Elements that lie close
/// together come by one read of at most 1 MiB, with what lies between them.
void read_strided(const PosixFile& file, const StridedData& data, std::uint64_t first, std::span<std::byte> out);

}  // namespace ckpt
