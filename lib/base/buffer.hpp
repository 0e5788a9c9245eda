#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/handle.hpp"

namespace ckpt {

/// Owns anonymous memory for staging: page-aligned, huge pages advised (the first touch of small ones is slow).
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::uint64_t bytes);

  std::byte* data() const noexcept { return memory_.get().address; }
  std::uint64_t size() const noexcept { return memory_.get().bytes; }
  std::span<std::byte> first(std::uint64_t bytes) const noexcept { return {data(), static_cast<std::size_t>(bytes)}; }

 private:
  struct Memory {
    std::byte* address = nullptr;
    std::uint64_t bytes = 0;
    friend bool operator==(const Memory&, const Memory&) = default;
  };
  struct Traits {
    using type = Memory;
    static type none() noexcept { return {}; }
    static void release(type memory) noexcept;
  };
  Handle<Traits> memory_;
};

}  // namespace ckpt
