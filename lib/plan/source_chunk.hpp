#pragma once

#include <cstdint>

namespace ckpt {

/// A chunk of a source file's array that is decoded as a whole.
struct SourceChunk {
  std::uint64_t file = 0;
  std::uint64_t dataset = 0;
  std::uint64_t number = 0;  ///< its index in the order of the array's elements
  friend bool operator==(const SourceChunk&, const SourceChunk&) = default;
};

}  // namespace ckpt
