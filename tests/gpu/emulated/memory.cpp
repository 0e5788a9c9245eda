// Device memory by two mappings of one anonymous file, and the list of registered host memory.
#include "gpu/emulated/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "gpu/emulated/runtime.hpp"
#include "gpu/emulated/streams.hpp"

namespace emulated {

namespace {

constexpr std::uint64_t page = 4096;
constexpr int poison = 0xA5;

struct Allocation {
  std::byte* inside;  ///< where the runtime reaches it
  std::uint64_t bytes;
  std::uint64_t mapped;
};

std::map<const std::byte*, Allocation>& allocations() {
  static auto* all = new std::map<const std::byte*, Allocation>;
  return *all;
}
std::map<const std::byte*, std::uint64_t>& registered() {
  static auto* all = new std::map<const std::byte*, std::uint64_t>;
  return *all;
}

std::string named(const Range& range) {
  char text[64];
  std::snprintf(text, sizeof text, "%llu bytes at %p", static_cast<unsigned long long>(range.bytes),
                static_cast<const void*>(range.begin));
  return text;
}

void unmap(const std::byte* seen, const Allocation& allocation) {
  munmap(allocation.inside, allocation.mapped);
  // The addresses stay taken, by pages that nobody may touch.
  mmap(const_cast<std::byte*>(seen), allocation.mapped, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool is_mapped(const std::byte* start, std::uint64_t bytes) {
  return msync(const_cast<std::byte*>(start), bytes, MS_ASYNC) == 0 || errno != ENOMEM;
}

}  // namespace

cudaError_t allocate(void** memory, std::uint64_t bytes) {
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::uint64_t used = bytes;
  for (const auto& [seen, each] : allocations()) used += each.bytes;
  if (used > runtime().plan.memory_bytes) return cudaErrorMemoryAllocation;
  const std::uint64_t mapped = (bytes + page - 1) / page * page;
  const int file = memfd_create("emulated-gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(mapped)) != 0) return cudaErrorMemoryAllocation;
  void* seen = mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, file, 0);
  void* inside = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (seen == MAP_FAILED || inside == MAP_FAILED) return cudaErrorMemoryAllocation;
  std::memset(inside, poison, mapped);
  allocations()[static_cast<std::byte*>(seen)] = {static_cast<std::byte*>(inside), bytes, mapped};
  *memory = seen;
  return cudaSuccess;
}

cudaError_t free_memory(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  const auto at = allocations().find(static_cast<std::byte*>(memory));
  if (at == allocations().end()) misuse("cudaFree of what was not allocated, or is free already");
  expect_unused({at->first, at->second.bytes}, "cudaFree");
  unmap(at->first, at->second);
  allocations().erase(at);
  return cudaSuccess;
}

cudaError_t register_memory(void* memory, std::uint64_t bytes) {
  const Range range{static_cast<std::byte*>(memory), bytes};
  if (memory == nullptr || bytes == 0) return cudaErrorInvalidValue;
  if (reinterpret_cast<std::uintptr_t>(memory) % page != 0) misuse("cudaHostRegister of memory within a page");
  if (!is_mapped(range.begin, bytes)) misuse("cudaHostRegister of memory that is not there: " + named(range));
  for (const auto& [begin, size] : registered())
    if (range.overlaps({begin, size})) return cudaErrorHostMemoryAlreadyRegistered;
  registered()[range.begin] = bytes;
  return cudaSuccess;
}

cudaError_t unregister_memory(void* memory) {
  const auto at = registered().find(static_cast<std::byte*>(memory));
  if (at == registered().end())
    return runtime().plan.plant == Plant::unregistered ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  const Range range{at->first, at->second};
  expect_unused(range, "cudaHostUnregister");
  if (!is_mapped(range.begin, range.bytes)) misuse("memory went while it was registered: " + named(range));
  registered().erase(at);
  return cudaSuccess;
}

Range allocation_of(const Range& range, const char* what) {
  auto at = allocations().upper_bound(range.begin);
  if (at != allocations().begin()) {
    --at;
    const Range found{at->first, at->second.bytes};
    if (found.contains(range)) return found;
  }
  misuse(std::string(what) + ": " + named(range) + " are not within memory of the device");
}

std::byte* reach(const Range& range, const char* what) {
  const Range found = allocation_of(range, what);
  return allocations().at(found.begin).inside + (range.begin - found.begin);
}

void expect_registered(const Range& range, const char* what) {
  for (const auto& [begin, size] : registered())
    if (Range{begin, size}.contains(range)) return;
  misuse(std::string(what) + ": " + named(range) + " of the host are not registered");
}

std::string memory_left() {
  std::string text;
  if (!allocations().empty()) text += std::to_string(allocations().size()) + " pieces of device memory; ";
  if (!registered().empty()) text += std::to_string(registered().size()) + " registered pieces of host memory; ";
  return text;
}

void discard_memory() {
  const std::lock_guard lock(runtime().mutex);
  for (const auto& [seen, each] : allocations()) unmap(seen, each);
  allocations().clear();
  registered().clear();
}

}  // namespace emulated
