#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/tables/row_condition.hpp"
#include "tables/keyed/stored_table.hpp"

namespace ckpt {

/// A condition on the rows of a table, ready to run over their columns.
///
/// Floats of at most 32 bits, and integers of at most 16, are computed in 32 bits, others in 64; an operation on both
/// in 64; a number in the text takes the type of its other operand. Nothing is fused or reordered, so that results
/// equal numpy's for the same columns. A comparison with NaN is false, and so is its negation.
class RowFilter {
 public:
  /// Throws usage, naming the fields that exist, if the table does not have such a field, or the field has no numbers.
  RowFilter(RowCondition condition, const StoredTable& table);

  const RowCondition& condition() const noexcept { return condition_; }
  /// Returns the datasets that it reads.
  const std::vector<TablePart>& parts() const noexcept { return parts_; }

  /// The addresses of the contiguous rows of each dataset.
  using Rows = std::vector<const std::byte*>;  // for each of parts()
  /// Sets the bit of each row that is kept (row r: bit r % 64 of word r / 64), and clears the others. Returns how many
  /// of the dropped rows had NaN in a comparison.
  std::uint64_t apply(const Rows& rows, std::uint64_t count, std::span<std::uint64_t> kept) const;

 private:
  friend class FilterCompiler;
  struct Column {
    std::size_t part = 0;
    std::uint64_t offset = 0;  // offset in a row, in bytes
    DType dtype;
    std::size_t to = 0;  // index of a register
    bool is_wide = false;
  };
  struct Constant {
    double value = 0;
    std::size_t to = 0;
    bool is_wide = false;
  };
  struct Instruction {
    RowCondition::Operation operation = RowCondition::Operation::number;  // number: widens a to 64 bits
    bool is_wide = false;                                                 // whether the operands are
    std::size_t a = 0;
    std::size_t b = 0;
    std::size_t to = 0;
  };

  RowCondition condition_;
  std::vector<TablePart> parts_;
  std::vector<Column> columns_;
  std::vector<Constant> constants_;
  std::vector<Instruction> instructions_;
  std::size_t registers_ = 0;
  std::size_t result_ = 0;  // index of a register
};

}  // namespace ckpt
