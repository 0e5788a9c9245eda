#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt {

struct CrcNumbers;

/// A cyclic redundancy check of 32 bits, with all bits inverted before and after, as file formats use it.
class Crc {
 public:
  constexpr Crc(const char* name, const CrcNumbers& numbers) : name_(name), numbers_(&numbers) {}

  /// Returns the sum of bytes that follow others, whose sum is `before`.
  std::uint32_t of(std::span<const std::byte> bytes, std::uint32_t before = 0) const;
  std::uint32_t of(std::string_view bytes, std::uint32_t before = 0) const;
  /// Returns the sum of a part of a file. Throws io if it cannot be read, or if the job is interrupted.
  std::uint32_t of(const PosixFile& file, Interval bytes) const;
  /// Returns the sum of two runs of bytes, one behind the other, from their own sums and the second one's length.
  std::uint32_t joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) const;
  /// Throws input, naming the object, if the sum of its bytes differs from the one that was written.
  void check(std::uint32_t found, std::uint32_t written, std::string_view object) const;

 private:
  const char* name_;
  const CrcNumbers* numbers_;
};

/// CRC-32, of zip archives and MindSpore's files, and CRC-32C (Castagnoli's polynomial), of TensorFlow's and Orbax's.
extern const Crc crc32;
extern const Crc crc32c;

}  // namespace ckpt
