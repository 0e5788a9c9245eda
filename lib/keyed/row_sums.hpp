#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/fingerprint.hpp"

namespace ckpt {

/// How the rows of one dataset of a table are summed: each with its key, so that the sum of a set of rows depends on
/// neither their order nor their servers, and finds a row that stands under another's key (lib/README.md).
class RowSums {
 public:
  /// `description` (describe_tensor of one row) makes sums of differently named datasets incomparable. Rows of 0 bytes:
  /// the keys alone.
  RowSums(const std::string& description, std::uint64_t row_bytes);

  /// Adds a row.
  void add(std::uint64_t key, const std::byte* row, PartialSum& sum) const noexcept;
  /// Adds rows that lie one behind the other, as their keys of 8 bytes do (anywhere: they need not be aligned).
  void add_all(const std::byte* keys, const std::byte* rows, std::uint64_t count, PartialSum& sum) const noexcept;
  /// The same, each to the sum of its group.
  void add_each(const std::byte* keys, const std::byte* rows, std::span<const std::uint64_t> groups,
                std::span<PartialSum> sums) const noexcept;

 private:
  std::uint64_t row_bytes_;
  Fingerprint seed_;
  std::vector<std::uint32_t> low_;  // for each word of a row
  std::vector<std::uint32_t> high_;
};

/// What a set of rows comes to.
Fingerprint row_fingerprint(const PartialSum& sum);

}  // namespace ckpt
