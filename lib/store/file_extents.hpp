#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tensor/box.hpp"

namespace ckpt {

/// Bytes of an array that lie in its file one after another, as they are.
struct FileExtent {
  std::uint64_t start = 0;   ///< which of the array's bytes comes first, in row-major order of its elements
  std::uint64_t offset = 0;  ///< where that one lies in the file
  std::uint64_t bytes = 0;

  friend bool operator==(const FileExtent&, const FileExtent&) = default;
};

/// Where an array's bytes lie in its file: in one extent, as in most formats, which takes no memory of its own, or in
/// several. These follow one another in the array's row-major order; in the file they lie anywhere.
class FileExtents {
 public:
  FileExtents() noexcept = default;  ///< of an array without bytes
  /// Throws input where they would end beyond 2^64, as all that follows does.
  FileExtents(std::uint64_t offset, std::uint64_t bytes);
  /// Intervals of the file, in the array's order. Those that follow one another in the file, too, become one extent.
  explicit FileExtents(const std::vector<Interval>& in_file);

  std::size_t count() const noexcept { return several_ ? several_->size() : bytes_ == 0 ? 0 : 1; }
  std::uint64_t bytes() const noexcept { return bytes_; }    ///< of all extents
  std::uint64_t offset() const noexcept { return offset_; }  ///< of the first byte in the file; 0 where there is none

  /// The extent that a byte of the array lies in; there must be such a byte.
  FileExtent at(std::uint64_t byte) const noexcept;

  /// Calls visit(offset in the file, part) for what of the array's bytes each extent holds, in order. The bytes must be
  /// there.
  template <class Visit>
  void for_each_part(Interval bytes, Visit&& visit) const {
    while (!bytes.empty()) {
      const FileExtent extent = at(bytes.lo);
      const Interval part{bytes.lo, std::min(bytes.hi, extent.start + extent.bytes)};
      visit(extent.offset + (part.lo - extent.start), part);
      bytes.lo = part.hi;
    }
  }

  /// Adds the intervals of the file to a list.
  void append_to(std::vector<Interval>& intervals) const;

  friend bool operator==(const FileExtents& a, const FileExtents& b) noexcept;

 private:
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<const std::vector<FileExtent>> several_;  // null for one
};

}  // namespace ckpt
