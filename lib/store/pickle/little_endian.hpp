#pragma once

#include <cstdint>
#include <string_view>

namespace ckpt::torch {

/// Decodes at most 8 bytes, lowest first, as a number. `above`: the bits above their highest.
inline std::uint64_t little_endian(std::string_view bytes, std::uint64_t above = 0) {
  for (std::size_t i = bytes.size(); i-- > 0;) above = above << 8U | static_cast<unsigned char>(bytes[i]);
  return above;
}

}  // namespace ckpt::torch
