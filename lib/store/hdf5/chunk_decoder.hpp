#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ckpt::hdf5 {

/// One step of the pipeline that a dataset's chunks went through, in the order of writing.
struct Filter {
  int id = 0;  ///< an H5Z_filter_t
  std::vector<unsigned> values;
};

/// Decodes what h5py's users write (shuffle, gzip, fletcher32, in this order, any of them absent) without HDF5, which
/// serves one thread at a time and holds several copies of a chunk.
class ChunkDecoder {
 public:
  /// Returns nothing for a pipeline that only HDF5 can decode.
  static std::optional<ChunkDecoder> of(const std::vector<Filter>& filters);

  /// `skipped`: the chunk's filter mask, one bit for each filter that was skipped. Throws input if the result is not
  /// exactly one chunk.
  void decode(std::span<const std::byte> encoded, std::uint32_t skipped, std::span<std::byte> out) const;

 private:
  // Positions in the pipeline.
  std::optional<unsigned> shuffle_;
  std::optional<unsigned> deflate_;
  std::optional<unsigned> checksum_;
  std::uint64_t element_ = 1;
};

}  // namespace ckpt::hdf5
