#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tables/keyed/row_filter.hpp"

namespace ckpt {

inline bool is_comparison(RowCondition::Operation operation) {
  return operation >= RowCondition::Operation::less && operation <= RowCondition::Operation::unequal;
}

/// Returns whether 32 bits represent a number of this type exactly.
inline bool is_narrow(const DType& dtype) {
  return dtype.size <= (dtype.is_float() ? 4U : 2U);
}

/// Compiles a filter's condition to instructions, for the columns of a table.
class FilterCompiler {
 public:
  FilterCompiler(RowFilter& to, const StoredTable& table) : to_(to), table_(table) {}

  /// Throws as RowFilter does.
  void compile();

 private:
  /// An entry of the stack: a register, or a number that has none yet.
  struct Operand {
    std::size_t at = 0;
    bool is_wide = false;
    bool is_rounded = false;  // integers that f64 may not represent
    std::optional<double> constant;
  };

  void add_column(const std::string& field);
  [[noreturn]] void refuse_unknown(const std::string& field) const;
  void add(const RowCondition::Step& step);
  static void check_exact(const Operand& column, const Operand& number);
  Operand pop();
  std::size_t in_register(const Operand& operand, bool is_wide);
  void emit(RowCondition::Operation operation, bool is_wide, std::size_t a, std::size_t b, bool is_result_wide);

  RowFilter& to_;
  const StoredTable& table_;
  std::vector<Operand> stack_;
};

}  // namespace ckpt
