#pragma once

#include "store/hdf5/chunk_form.hpp"

namespace ckpt::hdf5 {

/// Looks up every chunk of a chunked dataset, as a process that must not crash does later when it reads the data: an
/// index that crashes HDF5 does so here. Chunks of decoders that trust a file's parameters (n-bit, scale-offset, szip)
/// are decoded for the same reason. Throws input for chunks of sizes that the file or a filter rules out. Returns the
/// largest size of a chunk in the file.
std::uint64_t check_chunks(hid_t dataset, const ChunkForm& form, const Shape& shape, std::uint64_t file_bytes);

/// Returns the number of chunks that the dataset's index names, with or without bytes.
std::uint64_t count_chunks(hid_t dataset);

}  // namespace ckpt::hdf5
