#include "jobs/pairing.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "jobs/tree_names.hpp"
#include "tables/phase/table_plan.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

/// The value of a parameter without elements of fixed size on each card, by card id; it is in the metadata. If copies
/// may differ, only the first counts.
std::vector<std::pair<std::uint64_t, const Dataset*>> values(const ComparedSide& side, ParameterId parameter) {
  const Placement& placement = side.placement();
  const ArrayId array = placement.array_of(parameter);
  std::vector<std::pair<std::uint64_t, const Dataset*>> values;
  for (const Position card : placement.mesh().by_card()) {
    if (!placement.holds(card, array)) continue;
    values.emplace_back(placement.mesh().card(card), side.files.find(card, placement.arrays()[array].name));
    if (placement.shardings()[parameter].replicas == Replicas::first) break;
  }
  return values;
}

/// Whether elements are texts of any length.
bool is_text(const DType& dtype) {
  return dtype.kind == ElementKind::text && dtype.size == 0;
}

/// Long texts are in no catalog, only their sum.
std::pair<DType, std::optional<Shape>> form_of(const Dataset& dataset) {
  if (dataset.texts) return {dataset.texts->dtype, dataset.texts->shape};
  return {dataset.verbatim->dtype, dataset.verbatim->shape};
}

/// Compares texts by their bytes only, because formats give them different types.
bool are_same_values(const Dataset& a, const Dataset& b) {
  const auto has_value = [](const Dataset& dataset) { return dataset.texts || dataset.verbatim; };
  if (!has_value(a) || !has_value(b)) return has_value(a) == has_value(b);
  const auto [type_of_a, shape_of_a] = form_of(a);
  const auto [type_of_b, shape_of_b] = form_of(b);
  const bool are_texts = is_text(type_of_a) && is_text(type_of_b);
  if (!(shape_of_a == shape_of_b) || !(are_texts || type_of_a == type_of_b)) return false;
  return a.texts || b.texts ? sum_of_value(a) == sum_of_value(b) : a.verbatim->bytes == b.verbatim->bytes;
}

}  // namespace

Pairing::Pairing(const CompareJob& job, const ComparedSide& a, const ComparedSide& b, Selection of_a,
                 const CountedNames& names)
    : is_tolerant_(job.tolerance.has_value() || job.is_rounded),
      a_(a),
      b_(b),
      a_of_(b.placement().tensors().size(), 0),
      is_chosen_(a.placement().tensors().size(), false),
      of_a_(std::move(of_a)) {
  leave_out_of_tables(a.placement(), false, of_a_);
  of_a_.for_each_source([&](ParameterId parameter) { is_chosen_[parameter] = true; });
  if (!of_a_.links.empty()) links_.resize(a_of_.size());
  std::vector<bool> is_paired(a_of_.size(), false);
  const NamesInOther in_b(a.files, a.index, b.files, b.index, b.placement());
  std::vector<std::size_t> others;
  const auto try_to_pair = [&](std::size_t in_selection, std::optional<ParameterId> in_other) {
    if (!in_other || is_paired[*in_other]) return false;
    is_paired[*in_other] = true;
    pair(in_selection, *in_other);
    return true;
  };
  for (std::size_t i = 0; i < of_a_.tensors.size(); ++i)
    if (!try_to_pair(i, b.placement().find(of_a_.tensors[i].name))) others.push_back(i);
  for (const std::size_t i : others)  // a name that is spelled otherwise is never that of another tensor
    if (const Tensor& tensor = of_a_.tensors[i]; !try_to_pair(i, in_b.find(tensor.name)))
      add(Difference::What::only_in_a, tensor.name, tensor.dtype.name + " " + to_string(tensor.shape), "");
  for (ParameterId parameter = 0; parameter < a_of_.size(); ++parameter) {
    const Tensor& tensor = b.placement().tensors()[parameter];
    const bool counts = names.counts(tensor.name) && !b.placement().layout().table_offsets.contains(tensor.name);
    if (counts) of_b_.tensors.push_back(tensor);
    if (counts) of_b_.source_of.push_back(parameter);
    if (counts && !is_paired[parameter])
      add(Difference::What::only_in_b, tensor.name, "", tensor.dtype.name + " " + to_string(tensor.shape));
  }
  note_prefix(job.names.rename.empty());
}

/// Finds a prefix that names of A have or lack in B.
void Pairing::note_prefix(bool can_rename) {
  std::vector<std::string> of_a;
  std::vector<std::string> of_b;
  for (const Difference& difference : comparison_.differences) {
    if (difference.what == Difference::What::only_in_a) of_a.push_back(difference.parameter);
    if (difference.what == Difference::What::only_in_b) of_b.push_back(difference.parameter);
  }
  const std::set<std::string> alone(of_a.begin(), of_a.end());
  std::vector<std::string> common;
  for (const Tensor& tensor : of_a_.tensors)
    if (!alone.contains(tensor.name)) common.push_back(tensor.name);
  comparison_.prefix = prefix_change(of_a, of_b, common);
  if (comparison_.prefix && !can_rename) comparison_.prefix->renames.clear();  // of several the first decides
}

void Pairing::pair(std::size_t of_a, ParameterId in_b) {
  const ParameterId in_a = of_a_.source_of[of_a];
  const Tensor& a = of_a_.tensors[of_a];
  const Tensor& b = b_.placement().tensors()[in_b];
  a_of_[in_b] = in_a;
  if (!links_.empty()) links_[in_b] = of_a_.links[of_a];
  if (!is_comparable(a.dtype, b.dtype)) return add(Difference::What::dtype, b.name, a.dtype.name, b.dtype.name);
  if (is_of_table(in_a, in_b)) return pair_rows(a, b);
  if (!(a.shape == b.shape)) return add(Difference::What::shape, b.name, to_string(a.shape), to_string(b.shape));
  ++comparison_.parameters;
  comparison_.bytes += a.bytes();
  if (a.verbatim || b.verbatim) return compare_values(in_a, in_b);
  parameters_.push_back(in_b);
}

bool Pairing::is_of_table(ParameterId in_a, ParameterId in_b) const {
  const std::string& name = b_.placement().tensors()[in_b].name;
  const bool is_in_a = a_.placement().layout().table_arrays.contains(a_.placement().tensors()[in_a].name);
  const bool is_in_b = b_.placement().layout().table_arrays.contains(name);
  if (is_in_a != is_in_b)
    throw Error(Kind::usage, "parameter '" + name + "'",
                {std::string("it belongs to a table in ") + (is_in_a ? "A" : "B") + " alone",
                 "the table in the \"tables\" of both layouts", "a table's rows are compared by their keys"})
        .of_parameter(name);
  return is_in_a;
}

/// Rows are compared by key, however many there are.
void Pairing::pair_rows(const Tensor& a, const Tensor& b) {
  const bool is_same_row =
      a.shape.size() == b.shape.size() && std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
  if (!is_same_row) return add(Difference::What::shape, b.name, to_string(a.shape), to_string(b.shape));
  ++comparison_.parameters;
  comparison_.bytes += a.bytes();
}

bool Pairing::is_comparable(const DType& a, const DType& b) const {
  if (a == b || are_same_numbers(a, b) || (is_text(a) && is_text(b))) return true;
  const auto one = number_format(a);
  const auto other = number_format(b);
  return is_tolerant_ && one && other && one->is_float && other->is_float;
}

void Pairing::add(Difference::What what, const std::string& name, const std::string& a, const std::string& b) {
  comparison_.differences.push_back({.what = what, .parameter = name, .a = a, .b = b});
}

void Pairing::compare_values(ParameterId in_a, ParameterId in_b) {
  const Dataset* const expected = values(a_, in_a).front().second;
  Difference difference{.what = Difference::What::value, .parameter = b_.placement().tensors()[in_b].name};
  for (const auto& [card, found] : values(b_, in_b))
    if (!are_same_values(*found, *expected)) difference.cards.push_back(card);
  if (!difference.cards.empty()) comparison_.differences.push_back(std::move(difference));
}

}  // namespace ckpt
