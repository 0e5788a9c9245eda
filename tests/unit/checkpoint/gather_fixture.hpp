#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "checkpoint/gather.hpp"
#include "store/offset_file.hpp"
#include "temporary_directory.hpp"

/// What is gathered, and from which bytes.
namespace ckpt::fixture {

using Bytes = std::vector<std::byte>;

/// Bytes that tell where they come from.
inline Bytes numbered(std::uint64_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8U) * 13 + (i >> 16U));
  return bytes;
}

/// A transfer of a whole tensor of this shape, from element `first` of the dataset on.
inline Transfer transfer(const Shape& shape, const Shape& source_strides, const Shape& target_strides,
                         std::uint64_t element, std::uint64_t first) {
  return {0, 0, 0, element, {whole(shape), first, source_strides}, 0, target_strides};
}

}  // namespace ckpt::fixture
