#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/fingerprint.hpp"

namespace ckpt {

/// How to sum the rows of one dataset of a table: each with its key, so that the sum of a set of rows depends neither
/// on their order nor on their servers, and detects a row under another key (lib/tables/README.md).
class RowSums {
 public:
  /// `description` (describe_tensor of one row) makes sums of datasets with different names incomparable. For rows of 0
  /// bytes, only keys are summed.
  RowSums(const std::string& description, std::uint64_t row_bytes);

  /// Adds a row.
  void add(std::uint64_t key, const std::byte* row, PartialSum& sum) const noexcept;
  /// Adds contiguous rows with their contiguous 8-byte keys (neither need be aligned).
  void add_all(const std::byte* keys, const std::byte* rows, std::uint64_t count, PartialSum& sum) const noexcept;
  /// Adds contiguous rows like add_all, each to the sum of its group.
  void add_each(const std::byte* keys, const std::byte* rows, std::span<const std::uint64_t> groups,
                std::span<PartialSum> sums) const noexcept;

 private:
  std::uint64_t row_bytes_;
  Fingerprint seed_;
  std::vector<std::uint32_t> low_;  // for each word of a row
  std::vector<std::uint32_t> high_;
};

/// Returns the fingerprint of a set of rows.
Fingerprint row_fingerprint(const PartialSum& sum);

}  // namespace ckpt
