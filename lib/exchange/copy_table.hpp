#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/device_copy.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

/// Copies between places of one block of memory, which a GPU performs together.
class CopyTable {
 public:
  /// `source` and `target`: where the copy begins, in bytes from the block's start (which is on a 16-byte boundary).
  void add(const StridedCopy& copy, std::uint64_t source, std::uint64_t target);
  void append(const CopyTable& other);

  /// Returns the table's own size in memory.
  std::uint64_t bytes() const noexcept;
  /// Writes the table to `at` (on a 16-byte boundary). The view is valid for a copy of these bytes at `seen_at`.
  CopyTableView store(std::byte* at, const std::byte* seen_at) const;

 private:
  void add_words(const StridedCopy& copy, std::uint64_t source, std::uint64_t target, std::uint64_t width);
  std::uint64_t tiles() const noexcept;

  std::vector<DeviceCopy> copies_;
  std::uint64_t words_ = 0;
};

}  // namespace ckpt
