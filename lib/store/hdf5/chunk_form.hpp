#pragma once

#include <optional>
#include <vector>

#include "store/hdf5/chunk_decoder.hpp"
#include "store/hdf5/library.hpp"
#include "tensor/extents.hpp"

namespace ckpt::hdf5 {

/// How the data of a chunked dataset is cut and stored.
struct ChunkForm {
  Extents shape;
  std::uint64_t bytes = 0;  ///< of a chunk, decoded; never 0
  std::vector<Filter> filters;
  std::optional<ChunkDecoder> decoder;  ///< nothing where only HDF5 can decode
  std::vector<std::byte> fill;          ///< fill_value

  /// Whether to read parts of its chunks from where they are, as HDF5 can: large ones without filters.
  bool is_in_place() const noexcept;
  /// The memory that decoding a chunk takes, of so many bytes in the file.
  std::uint64_t decoding_bytes(std::uint64_t encoded) const;
};

/// Throws input for chunks that cannot be those of a dataset of this shape.
ChunkForm chunk_form(hid_t creation, hid_t type, const Extents& shape);

/// What elements that were never written read as: one element; empty: zeros.
std::vector<std::byte> fill_value(hid_t creation, hid_t type);

/// Whether any of a dataset was ever written.
bool is_written(hid_t dataset);

/// The bytes in the file of the chunk that begins at `place`; 0: it was never written.
std::uint64_t stored_bytes(hid_t dataset, const hsize_t* place);

}  // namespace ckpt::hdf5
