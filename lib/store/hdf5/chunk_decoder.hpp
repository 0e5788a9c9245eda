#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/checked.hpp"

namespace ckpt::hdf5 {

/// One step of the pipeline that a dataset's chunks went through, in the order of writing.
struct Filter {
  int id = 0;  ///< an H5Z_filter_t
  std::vector<unsigned> values;
};

/// Decodes what h5py's users write (shuffle, gzip or zstd, fletcher32, in this order, any of them absent) without HDF5,
/// which serves one thread at a time and holds several copies of a chunk.
class ChunkDecoder {
 public:
  /// Returns nothing for a pipeline that only HDF5 can decode.
  static std::optional<ChunkDecoder> of(const std::vector<Filter>& filters);

  /// `skipped`: the chunk's filter mask, one bit for each filter that was skipped. Throws input if the result is not
  /// exactly one chunk.
  void decode(std::span<const std::byte> encoded, std::uint32_t skipped, std::span<std::byte> out) const;

  /// Returns the memory that decoding a chunk of this size takes, including the chunk and excluding what is encoded.
  std::uint64_t memory(std::uint64_t chunk_bytes) const {
    return is_zstd_ && shuffle_ ? checked_mul(chunk_bytes, 2, "its chunk") : chunk_bytes;
  }

 private:
  // Positions in the pipeline.
  std::optional<unsigned> shuffle_;
  std::optional<unsigned> packing_;
  std::optional<unsigned> checksum_;
  std::uint64_t element_ = 1;
  bool is_zstd_ = false;  ///< the packing is zstd's, not gzip's
};

}  // namespace ckpt::hdf5
