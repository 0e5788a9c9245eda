#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tensor/box.hpp"

namespace ckpt {

/// A run of bytes of an array that are contiguous in its file, as they are.
struct FileExtent {
  std::uint64_t start = 0;   ///< the first of the array's bytes in it, in row-major order of its elements
  std::uint64_t offset = 0;  ///< where that byte lies in the file
  std::uint64_t bytes = 0;

  friend bool operator==(const FileExtent&, const FileExtent&) = default;
};

/// Where an array's bytes lie in its file: in one extent, as in most formats, which takes no extra memory, or in
/// several. Extents follow one another in the array's row-major order; in the file they lie anywhere.
class FileExtents {
 public:
  FileExtents() noexcept = default;  ///< of an array without bytes
  /// Throws input if the bytes would end beyond 2^64, as do all functions below.
  FileExtents(std::uint64_t offset, std::uint64_t bytes);
  /// Takes intervals of the file in the array's order. Intervals that are also contiguous in the file become one
  /// extent.
  explicit FileExtents(const std::vector<Interval>& in_file);

  std::size_t count() const noexcept { return several_ ? several_->size() : bytes_ == 0 ? 0 : 1; }
  std::uint64_t bytes() const noexcept { return bytes_; }    ///< of all extents
  std::uint64_t offset() const noexcept { return offset_; }  ///< of the first byte in the file; 0 if there is none

  /// Returns the extent that holds a byte of the array; the byte must exist.
  FileExtent at(std::uint64_t byte) const noexcept;

  /// Calls visit(offset in the file, part) for the part of these bytes that each extent holds, in order. The bytes must
  /// exist.
  template <class Visit>
  void for_each_part(Interval bytes, Visit&& visit) const {
    while (!bytes.empty()) {
      const FileExtent extent = at(bytes.lo);
      const Interval part{bytes.lo, std::min(bytes.hi, extent.start + extent.bytes)};
      visit(extent.offset + (part.lo - extent.start), part);
      bytes.lo = part.hi;
    }
  }

  /// Appends the extents, as intervals of the file, to a list.
  void append_to(std::vector<Interval>& intervals) const;
  std::vector<Interval> to_wire() const {
    std::vector<Interval> intervals;
    append_to(intervals);
    return intervals;
  }

  friend bool operator==(const FileExtents& a, const FileExtents& b) noexcept;

 private:
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<const std::vector<FileExtent>> several_;  // null for one
};

}  // namespace ckpt
