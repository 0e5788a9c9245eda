#include <algorithm>

#include "exchange/nccl/copy_kernel.hpp"

namespace ckpt {

namespace {

__global__ void __launch_bounds__(tile_threads) copy_kernel(CopyTableView table, std::byte* base) {
  for (std::uint64_t tile = blockIdx.x; tile < table.tiles; tile += gridDim.x)
    device::copy_tile(table, base, tile, threadIdx.x, KeepWord{});
}

}  // namespace

cudaError_t start_copies(const CopyTableView& table, std::byte* base, unsigned blocks, cudaStream_t stream) noexcept {
  if (table.tiles == 0) return cudaSuccess;
  const auto grid = static_cast<unsigned>(std::min<std::uint64_t>(table.tiles, blocks));
  copy_kernel<<<grid, tile_threads, 0, stream>>>(table, base);
  return cudaPeekAtLastError();
}

cudaError_t load_copy_kernel() noexcept {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, copy_kernel);
}

cudaError_t resident_blocks(int device, unsigned& blocks) noexcept {
  int processors = 0;
  int each = 0;
  if (const cudaError_t status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device))
    return status;
  if (const cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, copy_kernel, tile_threads, 0))
    return status;
  blocks = static_cast<unsigned>(std::max(1, processors * each));
  return cudaSuccess;
}

}  // namespace ckpt
