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

/// A table's rows as batches, numbered server by server and along each.
class Batches {
 public:
  Batches() = default;
  Batches(const std::vector<std::uint64_t>& rows_on_server, std::uint64_t rows_each);

  std::uint64_t count() const noexcept { return first_.empty() ? 0 : first_.back(); }
  Batch operator[](std::uint64_t number) const;
  /// Those that one of the processes works on, ascending: an equal share that lies together, or where not all see all
  /// files, those of the files that it is to read.
  std::vector<std::uint64_t> share(const Checkpoint& checkpoint, std::uint32_t process, std::uint32_t processes) const;

 private:
  std::uint64_t each_ = 1;
  std::vector<std::uint64_t> rows_;   // by server
  std::vector<std::uint64_t> first_;  // batch of each server; the number of all at the end
};

}  // namespace ckpt
