#pragma once

#include <cstdint>
#include <string_view>

namespace ckpt::torch {

/// The number that at most 8 bytes are, the lowest first. `above`: the bits over their highest.
inline std::uint64_t little_endian(std::string_view bytes, std::uint64_t above = 0) {
  for (std::size_t i = bytes.size(); i-- > 0;) above = above << 8U | static_cast<unsigned char>(bytes[i]);
  return above;
}

}  // namespace ckpt::torch
