// How fast fingerprints are summed on one core, for data in its cache in runs of several lengths. Prints one JSON
// object: bytes of a run → GB/s, best of several.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tensor/fingerprint.hpp"

namespace {

using namespace ckpt;

constexpr std::uint64_t buffer_bytes = 1ULL << 20;
constexpr std::uint64_t row_bytes = 14'336;  // of the tensor: 3,584 elements of float32

/// Sums a buffer that holds, densely, the same columns of many rows of a tensor.
PartialSum sum_of_columns(const std::vector<std::byte>& buffer, std::uint64_t run) {
  const std::uint64_t rows = buffer.size() / run;
  const Region columns{Box{{0, 32}, {rows, 32 + run / 4}}, 0, {run / 4, 1}};
  return sum_of(columns, 4, buffer.data(), {row_bytes / 4, 1});
}

double gigabytes_per_second(const std::vector<std::byte>& buffer, std::uint64_t run) {
  double best = 0;
  for (int i = 0; i < 30; ++i) {
    const auto start = std::chrono::steady_clock::now();
    PartialSum sum;
    for (int k = 0; k < 16; ++k) sum += run == 0 ? sum_of(buffer, 0) : sum_of_columns(buffer, run);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (sum.low != 0) best = std::max(best, double(sum.bytes) / seconds * 1e-9);
  }
  return best;
}

}  // namespace

int main() {
  std::vector<std::byte> buffer(buffer_bytes);
  std::uint64_t state = 1;
  for (std::byte& byte : buffer) byte = static_cast<std::byte>((state = state * 6364136223846793005U + 1) >> 56);
  std::printf("{\"whole\": %.3f", gigabytes_per_second(buffer, 0));
  for (const std::uint64_t run : {16U, 64U, 224U, 1024U, 8192U})
    std::printf(", \"%llu\": %.3f", static_cast<unsigned long long>(run), gigabytes_per_second(buffer, run));
  std::printf("}\n");
}
