#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/posix_file.hpp"
#include "tensor/box.hpp"

/// CRC-32C (Castagnoli's polynomial), as TensorFlow's checkpoints use it.
namespace ckpt {

/// Returns the sum of bytes that follow others, whose sum is `before`.
std::uint32_t crc32c_of(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c_of(std::string_view bytes, std::uint32_t before = 0);

/// Returns the sum of a part of a file. Throws io if it cannot be read, or if the job is interrupted.
std::uint32_t crc32c_of(const PosixFile& file, Interval bytes);

/// Returns the sum of two runs of bytes, one behind the other, from their own sums and the second one's length.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace ckpt
