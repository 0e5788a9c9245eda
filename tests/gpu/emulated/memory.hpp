#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

// Memory of the emulated device, and memory of the host that it may read and write. All of this is called with the
// runtime's mutex held, but for discard_memory.
//
// A device pointer leads nowhere in the program's hands: each allocation is mapped twice, without any access where the
// program sees it, and readable and writable where only the runtime does. It is filled with garbage when it is made;
// when it is freed, its addresses are never given again, so that every late use is outside of all memory.
namespace emulated {

/// What a piece of work reads or writes, as the program names it.
struct Range {
  const std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
  bool overlaps(const Range& other) const { return begin < other.begin + other.bytes && other.begin < begin + bytes; }
  bool contains(const Range& other) const { return begin <= other.begin && other.begin + other.bytes <= begin + bytes; }
};

cudaError_t allocate(void** memory, std::uint64_t bytes);
cudaError_t free_memory(void* memory);
cudaError_t register_memory(void* memory, std::uint64_t bytes);
cudaError_t unregister_memory(void* memory);

/// The allocation that the range lies in: a misuse where it lies in none, by what is named.
Range allocation_of(const Range& range, const char* what);
/// Where the runtime reads and writes that range of the device.
std::byte* reach(const Range& range, const char* what);
/// A misuse where the range does not lie in one that was registered.
void expect_registered(const Range& range, const char* what);

std::string memory_left();
void discard_memory();

}  // namespace emulated
