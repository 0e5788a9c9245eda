#include <algorithm>

#include "exchange/nccl/copy_kernel.hpp"

namespace ckpt {

namespace {

__global__ void __launch_bounds__(tile_threads) copy_kernel(CopyTableView table, std::byte* base) {
  for (std::uint64_t tile = blockIdx.x; tile < table.tiles; tile += gridDim.x)
    device::copy_tile(table, base, tile, threadIdx.x);
}

}  // namespace

/// Uses a call rather than <<< >>>, whose errors are available only afterwards, mixed with earlier ones.
cudaError_t start_copies(CopyTableView table, std::byte* base, unsigned blocks, cudaStream_t stream) noexcept {
  if (table.tiles == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(std::min<std::uint64_t>(table.tiles, blocks)));
  void* arguments[] = {&table, &base};
  return cudaLaunchKernel(reinterpret_cast<const void*>(copy_kernel), grid, dim3(tile_threads), arguments, 0, stream);
}

cudaError_t load_copy_kernel() noexcept {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(copy_kernel));
}

cudaError_t resident_blocks(int device, unsigned& blocks) noexcept {
  int processors = 0;
  int each = 0;
  cudaError_t status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, copy_kernel, static_cast<int>(tile_threads), 0);
  blocks = static_cast<unsigned>(std::max(1, processors * each));
  return status;
}

}  // namespace ckpt
