#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "keyed/stored_table.hpp"
#include "layout/row_condition.hpp"

namespace ckpt {

/// A condition on the rows of a table, ready to be run over their columns.
///
/// Floats of at most 32 bits, and integers of at most 16, are reckoned in 32 bits, others in 64; an operation of both
/// in 64; a number of the text in what it is put together with. Nothing is fused or put in another order, so that it is
/// what numpy makes of the same columns. A comparison with NaN is not true, nor is its opposite.
class RowFilter {
 public:
  /// Throws usage, naming what there is, where the table has no such field or it has no numbers.
  RowFilter(RowCondition condition, const StoredTable& table);

  const RowCondition& condition() const noexcept { return condition_; }
  /// The datasets that it reads.
  const std::vector<TablePart>& parts() const noexcept { return parts_; }

  /// Where the rows of one dataset lie, one behind the other.
  using Rows = std::vector<const std::byte*>;  // of each of parts()
  /// Sets the bit of each row that is to stay (row r: bit r % 64 of word r / 64), clears the others. Gives the number
  /// of those that go and have NaN where it was compared.
  std::uint64_t apply(const Rows& rows, std::uint64_t count, std::span<std::uint64_t> kept) const;

 private:
  friend class FilterCompiler;
  struct Column {
    std::size_t part = 0;
    std::uint64_t offset = 0;  // in a row, bytes
    DType dtype;
    std::size_t to = 0;  // register
    bool is_wide = false;
  };
  struct Constant {
    double value = 0;
    std::size_t to = 0;
    bool is_wide = false;
  };
  struct Instruction {
    RowCondition::Operation operation = RowCondition::Operation::number;  // number: widens a to 64 bits
    bool is_wide = false;                                                 // the operands
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
  std::size_t result_ = 0;  // register
};

}  // namespace ckpt
