#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// A run of rows of one server: the unit of work on a table.
struct Batch {
  Position server = 0;
  Interval rows;
};

/// A table's rows as batches, numbered server by server, and in order on each.
class Batches {
 public:
  Batches() = default;
  Batches(const std::vector<std::uint64_t>& rows_on_server, std::uint64_t rows_each);

  std::uint64_t count() const noexcept { return first_.empty() ? 0 : first_.back(); }
  Batch operator[](std::uint64_t number) const;
  /// Returns the batches that one of the processes works on, ascending: an equal, contiguous share, or, if not all
  /// processes see all files, the batches of the files that it is to read.
  std::vector<std::uint64_t> share(const Checkpoint& checkpoint, std::uint32_t process, std::uint32_t processes) const;

 private:
  std::uint64_t each_ = 1;
  std::vector<std::uint64_t> rows_;   // by server
  std::vector<std::uint64_t> first_;  // first batch of each server, and the total at the end
};

}  // namespace ckpt
