#include "tables/keyed/row_filter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "tables/keyed/filter_compiler.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

using Operation = RowCondition::Operation;

constexpr std::size_t block_rows = 1024;  // a block of each register fits into the core's nearest cache

/// A block with one value for each row.
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

/// Loads types that are not this machine's own.
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

/// Returns true if numbers differ; false for NaN.
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
