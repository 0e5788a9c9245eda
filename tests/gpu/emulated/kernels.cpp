// Kernels: what nvcc's host code calls to register and to launch them. The one that is known is the copy kernel, whose
// own host code (start_copies) runs as it is; the grid's threads are played by the host, blocks in a random order. What
// a GPU would answer with a fault, or not notice at all, is a misuse: words out of the memory, or off their alignment.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "exchange/device_copy.hpp"
#include "gpu/emulated/memory.hpp"
#include "gpu/emulated/runtime.hpp"
#include "gpu/emulated/streams.hpp"

using namespace emulated;
using ckpt::CopyTableView;
using ckpt::DeviceCopy;

namespace {

constexpr int blocks_of_processor = 2;

std::set<const void*>& copy_kernels() {
  static auto* all = new std::set<const void*>;
  return *all;
}

void expect_copy_kernel(const void* kernel, const char* what) {
  if (copy_kernels().count(kernel) == 0) misuse(std::string(what) + " of a kernel that is not emulated");
}

Range range_of(const void* begin, std::uint64_t bytes) {
  return {static_cast<const std::byte*>(begin), bytes};
}

/// One past the last byte that a copy touches at one of its ends.
std::uint64_t end_of(const DeviceCopy& copy, std::uint64_t first, std::uint64_t DeviceCopy::Loop::*stride) {
  std::uint64_t end = first + std::uint64_t{copy.run} * copy.width;
  for (std::uint32_t i = 0; i < copy.depth; ++i) end += (copy.loops[i].count - 1) * copy.loops[i].*stride;
  return end;
}

void expect_good(const DeviceCopy& copy, const std::byte* base, std::uint64_t room, std::uint64_t first) {
  const auto place = reinterpret_cast<std::uintptr_t>(base);
  const bool has_shape = copy.first == first && copy.depth <= DeviceCopy::max_depth && copy.run > 0 &&
                         copy.width <= 16 && (copy.width & (copy.width - 1)) == 0 && copy.width > 0;
  if (!has_shape) misuse("the copy kernel reads a table that is not one (is it there yet?)");
  if (end_of(copy, copy.source, &DeviceCopy::Loop::source_stride) > room ||
      end_of(copy, copy.target, &DeviceCopy::Loop::target_stride) > room)
    misuse("the copy kernel touches memory outside of its block");
  std::uint64_t bits = (place + copy.source) | (place + copy.target);
  for (std::uint32_t i = 0; i < copy.depth; ++i) bits |= copy.loops[i].source_stride | copy.loops[i].target_stride;
  if (bits % copy.width != 0) misuse("the copy kernel reads or writes a word off its alignment");
}

/// The table as the runtime reaches it, when all of it is good.
CopyTableView reach_table(const CopyTableView& table, const std::byte* base, std::uint64_t room) {
  CopyTableView inside = table;
  inside.tile_copy = reinterpret_cast<const std::uint32_t*>(
      reach(range_of(table.tile_copy, (table.tiles + 1) * sizeof(std::uint32_t)), "the copy kernel's table"));
  const std::uint64_t copies = std::uint64_t{inside.tile_copy[table.tiles]} + 1;
  inside.copies = reinterpret_cast<const DeviceCopy*>(
      reach(range_of(table.copies, copies * sizeof(DeviceCopy)), "the copy kernel's copies"));
  std::uint64_t words = 0;
  for (std::uint64_t i = 0; i < copies; ++i) {
    expect_good(inside.copies[i], base, room, words);
    words += inside.copies[i].words;
  }
  for (std::uint64_t tile = 0; tile < table.tiles; ++tile)
    if (inside.tile_copy[tile] > inside.tile_copy[tile + 1]) misuse("the copy kernel reads tiles out of order");
  if (words != table.words) misuse("the copy kernel reads a table of another length");
  return inside;
}

void run_grid(const CopyTableView& table, std::byte* base, unsigned blocks, std::mt19937_64& engine) {
  std::vector<unsigned> order(blocks);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), engine);
  for (const unsigned block : order)
    for (std::uint64_t tile = block; tile < table.tiles; tile += blocks)
      for (std::uint32_t thread = 0; thread < ckpt::tile_threads; ++thread)
        ckpt::device::copy_tile(table, base, tile, thread);
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, cudaStream_t stream) {
  Call call("cudaLaunchKernel");
  if (const auto error = call.refusal(cudaErrorIllegalAddress)) return *error;
  expect_copy_kernel(kernel, "cudaLaunchKernel");
  expect_stream(stream, "cudaLaunchKernel");
  if (grid.x == 0 || grid.y * grid.z != 1 || block.x != ckpt::tile_threads || block.y * block.z != 1)
    return answer(cudaErrorInvalidConfiguration);
  if (call.hangs()) put_hanging(stream);
  const CopyTableView table = *static_cast<const CopyTableView*>(arguments[0]);
  auto* base = *static_cast<std::byte**>(arguments[1]);
  const Range memory = allocation_of({base, 1}, "the copy kernel");
  const Range rest{base, memory.bytes - static_cast<std::uint64_t>(base - memory.begin)};
  put(stream, {"the copy kernel",
               {memory},
               [=](CUstream_st& self) {
                 std::unique_lock lock(runtime().mutex);
                 std::byte* inside = reach(rest, "the copy kernel");
                 const CopyTableView reached = reach_table(table, base, rest.bytes);
                 lock.unlock();
                 run_grid(reached, inside, grid.x, self.engine);
               },
               {}});
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  Call call("cudaFuncGetAttributes");
  if (const auto error = call.refusal(cudaErrorNoKernelImageForDevice)) return *error;
  expect_copy_kernel(kernel, "cudaFuncGetAttributes");
  *attributes = {};
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int /*threads*/,
                                                                   std::size_t /*shared*/, unsigned /*flags*/) {
  Call call("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (const auto error = call.refusal(cudaErrorInvalidDeviceFunction)) return *error;
  expect_copy_kernel(kernel, "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = blocks_of_processor;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t /*shared*/,
                             cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, stream);
}

// What nvcc writes calls of: no header that a program may include declares them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-declarations"
void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
void __cudaRegisterFunction(void** /*handle*/, const char* host, char* /*device*/, const char* name, int /*threads*/,
                            uint3* /*thread*/, uint3* /*block*/, dim3* /*block_size*/, dim3* /*grid_size*/,
                            int* /*warp_size*/) {
  if (std::strstr(name, "copy_kernel") != nullptr) copy_kernels().insert(host);
}
unsigned __cudaPushCallConfiguration(dim3 /*grid*/, dim3 /*block*/, std::size_t /*shared*/, CUstream_st* /*stream*/) {
  misuse("a launch by <<< >>> is not emulated");
}
cudaError_t __cudaPopCallConfiguration(dim3* /*grid*/, dim3* /*block*/, std::size_t* /*shared*/, void* /*stream*/) {
  misuse("a launch by <<< >>> is not emulated");
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t /*shared*/,
                               cudaStream_t stream) {
  return launch(reinterpret_cast<const void*>(kernel), grid, block, arguments, stream);
}
#pragma GCC diagnostic pop

}  // extern "C"
