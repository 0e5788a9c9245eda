#pragma once

#include <optional>
#include <vector>

#include "store/hdf5/chunk_decoder.hpp"
#include "store/hdf5/library.hpp"
#include "tensor/shape.hpp"

namespace ckpt::hdf5 {

/// How the data of a chunked dataset is cut and stored.
struct ChunkForm {
  Shape shape;
  std::uint64_t bytes = 0;  ///< of a decoded chunk; never 0
  std::vector<Filter> filters;
  std::optional<ChunkDecoder> decoder;  ///< nothing if only HDF5 can decode
  std::vector<std::byte> fill;          ///< fill_value

  /// Returns whether to read parts of its chunks in place, as HDF5 can: large chunks without filters.
  bool is_in_place() const noexcept;
  /// Returns the memory that decoding a chunk takes which has `encoded` bytes in the file.
  std::uint64_t decoding_bytes(std::uint64_t encoded) const;
};

/// Throws input for chunks that a dataset of this shape cannot have.
ChunkForm chunk_form(hid_t creation, hid_t type, const Shape& shape);

/// Returns the element that unwritten elements read as; empty: zeros.
std::vector<std::byte> fill_value(hid_t creation, hid_t type);

/// Returns whether any part of a dataset was ever written.
bool is_written(hid_t dataset);

/// Returns the bytes in the file of the chunk that begins at `place`; 0 if it was never written.
std::uint64_t stored_bytes(hid_t dataset, const hsize_t* place);

}  // namespace ckpt::hdf5
