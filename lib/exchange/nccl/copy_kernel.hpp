#pragma once

#include <cuda_runtime_api.h>

#include "exchange/device_copy.hpp"

namespace ckpt {

/// Starts a table's copies in a stream.
cudaError_t start_copies(CopyTableView table, std::byte* base, unsigned blocks, cudaStream_t stream) noexcept;

/// Loads the kernel, which would otherwise happen at its first launch, after waiting for all work that is running.
/// Fails where it was not built for the device.
cudaError_t load_copy_kernel() noexcept;

/// Blocks that a device runs at a time.
cudaError_t resident_blocks(int device, unsigned& blocks) noexcept;

}  // namespace ckpt
