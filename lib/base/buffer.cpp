#include "base/buffer.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

Buffer::Buffer(std::uint64_t bytes) {
  if (bytes == 0) return;
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw system_error("memory", "cannot have " + format_bytes(bytes), errno, "", {Advice::What::less_memory, ""});
  madvise(address, bytes, MADV_HUGEPAGE);  // only advice: everything works without it, but slower
  memory_ = Handle<Traits>(Memory{static_cast<std::byte*>(address), bytes});
}

void Buffer::Traits::release(type memory) noexcept {
  munmap(memory.address, memory.bytes);
}

}  // namespace ckpt
