#pragma once

#include <cuda_runtime_api.h>

#include "exchange/device_copy.hpp"

namespace ckpt {

/// Starts a table's copies in a stream.
cudaError_t start_copies(CopyTableView table, std::byte* base, unsigned blocks, cudaStream_t stream) noexcept;

/// Loads the kernel. Otherwise its first launch would load it, after waiting for all work in progress. Fails if the
/// kernel was not built for the device.
cudaError_t load_copy_kernel() noexcept;

/// Returns the number of blocks that a device runs at a time.
cudaError_t resident_blocks(int device, unsigned& blocks) noexcept;

}  // namespace ckpt
