#include "keyed/row_filter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

using Operation = RowCondition::Operation;

constexpr std::size_t block_rows = 1024;  // so that a block of each register is in the core's nearest cache

bool is_comparison(Operation operation) {
  return operation >= Operation::less && operation <= Operation::unequal;
}

/// Whether a number of this type is exact in 32 bits.
bool is_narrow(const DType& dtype) {
  return dtype.size <= (dtype.is_float() ? 4U : 2U);
}

/// Whole numbers from here on are not told apart as f64.
constexpr double first_rounded = 9007199254740992.0;

bool is_rounded(const DType& dtype) {
  return !dtype.is_float() && dtype.size > 4;
}

/// What stands on the compiler's stack: a register, or a number that has none yet.
struct Operand {
  std::size_t at = 0;
  bool is_wide = false;
  bool is_rounded = false;  // whole numbers that f64 may not have room for
  std::optional<double> constant;
};

double folded(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    default:
      return a / b;
  }
}

}  // namespace

/// Gives each step a register, and numbers the type of what they are put together with.
class FilterCompiler {
 public:
  FilterCompiler(RowFilter& to, const StoredTable& table) : to_(to), table_(table) {}

  void compile() {
    for (const std::string& field : to_.condition_.fields()) add_column(field);
    for (const RowCondition::Step& step : to_.condition_.steps()) add(step);
    to_.result_ = in_register(pop(), false);
  }

 private:
  void add_column(const std::string& field) {
    const auto found = table_.fields.find(field);
    if (found == table_.fields.end()) refuse_unknown(field);
    const TablePart& part = table_.parts[found->second.part];
    if (!number_format(part.dtype) || found->second.number >= part.row_elements)
      throw Error(
          Kind::usage, "the field \"" + field + "\"",
          {"its dataset " + part.name + " has rows of " + std::to_string(part.row_elements) + " " + part.dtype.name,
           "expected numbers, and at least " + std::to_string(found->second.number + 1) + " in a row", ""});
    const auto known = std::find_if(to_.parts_.begin(), to_.parts_.end(),
                                    [&](const TablePart& each) { return each.name == part.name; });
    const auto at = static_cast<std::size_t>(known - to_.parts_.begin());
    if (known == to_.parts_.end()) to_.parts_.push_back(part);
    to_.columns_.push_back(
        {at, found->second.number * part.dtype.size, part.dtype, to_.registers_++, !is_narrow(part.dtype)});
  }

  [[noreturn]] void refuse_unknown(const std::string& field) const {
    std::vector<std::string> names;
    for (const auto& [name, column] : table_.fields) names.push_back(name);
    throw Error(Kind::usage, "",
                {"table '" + table_.name + "' has no field \"" + field + "\"",
                 names.empty() ? "expected one that \"fields\" of the source's layout names, and it names none"
                               : "expected one of " + join(names),
                 names.empty() ? "name the columns there" : "did you mean " + nearest(field, names, 1).front() + "?"});
  }

  void add(const RowCondition::Step& step) {
    if (step.operation == Operation::number) return stack_.push_back({0, false, false, step.number});
    if (step.operation == Operation::field) {
      const auto& column = to_.columns_[step.field];
      return stack_.push_back({column.to, column.is_wide, is_rounded(column.dtype), {}});
    }
    Operand b = pop();
    if (step.operation == Operation::negate) {
      if (b.constant) return stack_.push_back({0, false, false, -*b.constant});
      emit(Operation::negate, b.is_wide, b.at, b.at, b.is_wide);
      stack_.back().is_rounded = b.is_rounded;
      return;
    }
    Operand a = pop();
    if (step.operation == Operation::both || step.operation == Operation::either)
      return emit(step.operation, false, a.at, b.at, false);
    if (a.constant && b.constant && !is_comparison(step.operation))
      return stack_.push_back({0, false, false, folded(step.operation, *a.constant, *b.constant)});
    check_exact(a, b);
    check_exact(b, a);
    const bool is_wide =
        (a.constant ? false : a.is_wide) || (b.constant ? false : b.is_wide) || (a.constant && b.constant);
    const std::size_t left = in_register(a, is_wide);
    const std::size_t right = in_register(b, is_wide);
    emit(step.operation, is_wide, left, right, is_wide && !is_comparison(step.operation));
  }

  static void check_exact(const Operand& column, const Operand& number) {
    if (!column.is_rounded || !number.constant || !(std::abs(*number.constant) >= first_rounded)) return;
    throw Error(Kind::usage, "",
                {"a number from 2^53 on, beside a field of whole numbers of 64 bits",
                 "expected a smaller one: such fields are reckoned in f64, which does not tell larger ones apart", ""});
  }

  Operand pop() {
    const Operand operand = stack_.back();
    stack_.pop_back();
    return operand;
  }

  std::size_t in_register(const Operand& operand, bool is_wide) {
    if (operand.constant) {
      to_.constants_.push_back({*operand.constant, to_.registers_, is_wide});
      return to_.registers_++;
    }
    if (operand.is_wide || !is_wide) return operand.at;
    to_.instructions_.push_back({Operation::number, false, operand.at, operand.at, to_.registers_});
    return to_.registers_++;
  }

  void emit(Operation operation, bool is_wide, std::size_t a, std::size_t b, bool is_result_wide) {
    to_.instructions_.push_back({operation, is_wide, a, b, to_.registers_});
    stack_.push_back({to_.registers_++, is_result_wide, false, {}});
  }

  RowFilter& to_;
  const StoredTable& table_;
  std::vector<Operand> stack_;
};

namespace {

/// A block of one value of each row.
union Register {
  std::array<float, block_rows> narrow;
  std::array<double, block_rows> wide;
  std::array<std::uint8_t, block_rows> truth;
};

template <class Number>
auto& numbers(Register& block) {
  if constexpr (std::is_same_v<Number, float>)
    return block.narrow;
  else
    return block.wide;
}

template <class Stored, class Number>
void load(const std::byte* from, std::uint64_t stride, std::size_t count, Number* to) {
  for (std::size_t row = 0; row < count; ++row) {
    Stored value;
    std::memcpy(&value, from + row * stride, sizeof value);
    to[row] = static_cast<Number>(value);
  }
}

/// Types that are not this machine's own.
template <class Number>
void load_any(const DType& dtype, const std::byte* from, std::uint64_t stride, std::size_t count, Number* to) {
  const NumberFormat format = *number_format(dtype);
  for (std::size_t row = 0; row < count; ++row) {
    const std::byte* const element = from + row * stride;
    if (format.is_float)
      to[row] = static_cast<Number>(float_value(format, element));
    else if (format.kind == ElementKind::signed_integer)
      to[row] = static_cast<Number>(signed_value(format, element));
    else
      to[row] = static_cast<Number>(unsigned_value(format, element));
  }
}

void load_column(const DType& dtype, const std::byte* from, std::uint64_t stride, std::size_t count, Register& to) {
  if (dtype.name == "f32") return load<float>(from, stride, count, to.narrow.data());
  if (dtype.name == "f64") return load<double>(from, stride, count, to.wide.data());
  if (dtype.name == "i32") return load<std::int32_t>(from, stride, count, to.wide.data());
  if (dtype.name == "u32") return load<std::uint32_t>(from, stride, count, to.wide.data());
  if (dtype.name == "i64") return load<std::int64_t>(from, stride, count, to.wide.data());
  if (dtype.name == "u64") return load<std::uint64_t>(from, stride, count, to.wide.data());
  if (is_narrow(dtype)) return load_any(dtype, from, stride, count, to.narrow.data());
  load_any(dtype, from, stride, count, to.wide.data());
}

template <class Function, class Number, class Result>
void each_of(const Number* a, const Number* b, std::size_t count, Result* to) {
  for (std::size_t row = 0; row < count; ++row) to[row] = static_cast<Result>(Function{}(a[row], b[row]));
}

/// True where numbers differ; not with NaN.
struct Differs {
  template <class Number>
  bool operator()(Number a, Number b) const {
    return (a < b) | (a > b);
  }
};

template <class Number>
void run_numbers(Operation operation, const Number* a, const Number* b, std::size_t count, Register& to) {
  const auto to_number = numbers<Number>(to).data();
  const auto to_truth = to.truth.data();
  switch (operation) {
    case Operation::negate:
      for (std::size_t row = 0; row < count; ++row) to_number[row] = -a[row];
      return;
    case Operation::add:
      return each_of<std::plus<>>(a, b, count, to_number);
    case Operation::subtract:
      return each_of<std::minus<>>(a, b, count, to_number);
    case Operation::multiply:
      return each_of<std::multiplies<>>(a, b, count, to_number);
    case Operation::divide:
      return each_of<std::divides<>>(a, b, count, to_number);
    case Operation::less:
      return each_of<std::less<>>(a, b, count, to_truth);
    case Operation::less_equal:
      return each_of<std::less_equal<>>(a, b, count, to_truth);
    case Operation::greater:
      return each_of<std::greater<>>(a, b, count, to_truth);
    case Operation::greater_equal:
      return each_of<std::greater_equal<>>(a, b, count, to_truth);
    case Operation::equal:
      return each_of<std::equal_to<>>(a, b, count, to_truth);
    case Operation::unequal:
      return each_of<Differs>(a, b, count, to_truth);
    default:
      return;
  }
}

using Truth = std::array<std::uint8_t, block_rows>;

template <class Number>
void run_and_note_nan(Operation operation, const Number* a, const Number* b, std::size_t count, Register& to,
                      Truth& has_nan) {
  if (is_comparison(operation))
    for (std::size_t row = 0; row < count; ++row)
      has_nan[row] |= static_cast<std::uint8_t>(std::isunordered(a[row], b[row]));
  run_numbers(operation, a, b, count, to);
}

void run(Operation operation, bool is_wide, const Register& a, const Register& b, std::size_t count, Register& to,
         Truth& has_nan) {
  if (operation == Operation::number) {
    std::copy_n(a.narrow.data(), count, to.wide.data());
  } else if (operation == Operation::both) {
    each_of<std::bit_and<>>(a.truth.data(), b.truth.data(), count, to.truth.data());
  } else if (operation == Operation::either) {
    each_of<std::bit_or<>>(a.truth.data(), b.truth.data(), count, to.truth.data());
  } else if (is_wide) {
    run_and_note_nan(operation, a.wide.data(), b.wide.data(), count, to, has_nan);
  } else {
    run_and_note_nan(operation, a.narrow.data(), b.narrow.data(), count, to, has_nan);
  }
}

}  // namespace

RowFilter::RowFilter(RowCondition condition, const StoredTable& table) : condition_(std::move(condition)) {
  FilterCompiler(*this, table).compile();
}

std::uint64_t RowFilter::apply(const Rows& rows, std::uint64_t count, std::span<std::uint64_t> kept) const {
  std::vector<Register> blocks(registers_);
  for (const Constant& constant : constants_)
    constant.is_wide ? blocks[constant.to].wide.fill(constant.value)
                     : blocks[constant.to].narrow.fill(static_cast<float>(constant.value));
  std::uint64_t dropped_with_nan = 0;
  for (std::uint64_t first = 0; first < count; first += block_rows) {
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(block_rows, count - first));
    for (const Column& column : columns_) {
      const std::uint64_t stride = parts_[column.part].row_bytes();
      load_column(column.dtype, rows[column.part] + first * stride + column.offset, stride, here, blocks[column.to]);
    }
    Truth has_nan{};
    for (const Instruction& each : instructions_)
      run(each.operation, each.is_wide, blocks[each.a], blocks[each.b], here, blocks[each.to], has_nan);
    const std::uint8_t* const truth = blocks[result_].truth.data();
    for (std::size_t begin = 0; begin < here; begin += 64) {
      std::uint64_t bits = 0;
      for (std::size_t row = begin; row < std::min(here, begin + 64); ++row) {
        bits |= std::uint64_t{truth[row]} << (row - begin);
        dropped_with_nan += truth[row] == 0 ? has_nan[row] : 0;
      }
      kept[(first + begin) / 64] = bits;
    }
  }
  return dropped_with_nan;
}

}  // namespace ckpt
