// gpu_probe: whether there is a GPU: status 0 and its name, or 77 and why not.
// gpu_probe hold MIB: takes all of its memory but so much, says so, and keeps it until standard input ends.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int hold(std::size_t left) {
  std::size_t available = 0;
  std::size_t all = 0;
  if (cudaMemGetInfo(&available, &all) != cudaSuccess) return 1;
  constexpr std::size_t piece = 16U << 20U;  // memory is no longer of one piece
  for (void* memory = nullptr; available > left + piece && cudaMalloc(&memory, piece) == cudaSuccess;)
    cudaMemGetInfo(&available, &all);
  std::puts("held");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaDeviceProp properties{};
  if (status != cudaSuccess || count == 0 || cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
    std::printf("skipped: no GPU on this machine: %s\n", cudaGetErrorString(status));
    return 77;
  }
  if (argc == 3 && std::strcmp(argv[1], "hold") == 0) return hold(std::strtoull(argv[2], nullptr, 10) << 20U);
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::printf("%d x %s, driver for CUDA %d.%d\n", count, properties.name, driver / 1000, driver % 1000 / 10);
  return 0;
}
