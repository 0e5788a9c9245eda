#pragma once

#include "store/hdf5/chunk_form.hpp"

namespace ckpt::hdf5 {

/// Looks up every chunk of a chunked dataset, as reading its data does later in a process that must not crash: an index
/// that crashes HDF5 does it here. So do the decoders that trust a file's parameters (n-bit, scale-offset, szip): their
/// chunks are decoded. Throws input for chunks of sizes that the file or a filter denies; gives the largest, in the
/// file.
std::uint64_t check_chunks(hid_t dataset, const ChunkForm& form, const Extents& shape, std::uint64_t file_bytes);

/// The chunks that its index names, with or without bytes.
std::uint64_t count_chunks(hid_t dataset);

}  // namespace ckpt::hdf5
