#include "tables/keyed/filter_compiler.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.hpp"
#include "tensor/number.hpp"

namespace ckpt {

using Operation = RowCondition::Operation;

namespace {

/// From here on, f64 does not distinguish all integers.
constexpr double first_rounded = 9007199254740992.0;

bool is_rounded(const DType& dtype) {
  return !dtype.is_float() && dtype.size > 4;
}

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

void FilterCompiler::compile() {
  for (const std::string& field : to_.condition_.fields()) add_column(field);
  for (const RowCondition::Step& step : to_.condition_.steps()) add(step);
  to_.result_ = in_register(pop(), false);
}

void FilterCompiler::add_column(const std::string& field) {
  const auto found = table_.fields.find(field);
  if (found == table_.fields.end()) refuse_unknown(field);
  const TablePart& part = table_.parts[found->second.part];
  if (!number_format(part.dtype) || found->second.number >= part.row_elements)
    throw Error(
        Kind::usage, "the field \"" + field + "\"",
        {"its dataset " + part.name + " has rows of " + std::to_string(part.row_elements) + " " + part.dtype.name,
         "numbers, and at least " + std::to_string(found->second.number + 1) + " in a row", ""});
  const auto known =
      std::find_if(to_.parts_.begin(), to_.parts_.end(), [&](const TablePart& each) { return each.name == part.name; });
  const auto at = static_cast<std::size_t>(known - to_.parts_.begin());
  if (known == to_.parts_.end()) to_.parts_.push_back(part);
  to_.columns_.push_back(
      {at, found->second.number * part.dtype.size, part.dtype, to_.registers_++, !is_narrow(part.dtype)});
}

void FilterCompiler::refuse_unknown(const std::string& field) const {
  std::vector<std::string> names;
  for (const auto& [name, column] : table_.fields) names.push_back(name);
  throw Error(
      Kind::usage, "",
      {"table '" + table_.name + "' has no field \"" + field + "\"",
       names.empty() ? "one that \"fields\" of the source's layout names, and it names none" : "one of " + join(names),
       names.empty() ? "name the columns there" : "did you mean " + nearest(field, names, 1).front() + "?"});
}

void FilterCompiler::add(const RowCondition::Step& step) {
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

void FilterCompiler::check_exact(const Operand& column, const Operand& number) {
  if (!column.is_rounded || !number.constant || !(std::abs(*number.constant) >= first_rounded)) return;
  throw Error(Kind::usage, "",
              {"a number from 2^53 on, beside a field of whole numbers of 64 bits",
               "a smaller one: such fields are reckoned in f64, which does not tell larger ones apart", ""});
}

FilterCompiler::Operand FilterCompiler::pop() {
  const Operand operand = stack_.back();
  stack_.pop_back();
  return operand;
}

std::size_t FilterCompiler::in_register(const Operand& operand, bool is_wide) {
  if (operand.constant) {
    to_.constants_.push_back({*operand.constant, to_.registers_, is_wide});
    return to_.registers_++;
  }
  if (operand.is_wide || !is_wide) return operand.at;
  to_.instructions_.push_back({Operation::number, false, operand.at, operand.at, to_.registers_});
  return to_.registers_++;
}

void FilterCompiler::emit(Operation operation, bool is_wide, std::size_t a, std::size_t b, bool is_result_wide) {
  to_.instructions_.push_back({operation, is_wide, a, b, to_.registers_});
  stack_.push_back({to_.registers_++, is_result_wide, false, {}});
}

}  // namespace ckpt
