#include "jobs/types/expectation.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "layout/placement/explain_logical_shape.hpp"

namespace ckpt {

namespace {

/// The number of a table's rows is not a property of the model: each save has another, and filters leave rows out.
Tensor with_rows_of(const Selection& selection, const Layout& source, Tensor expected) {
  if (!source.table_arrays.contains(expected.name) || expected.shape.empty()) return expected;
  const auto found = selection.find(expected.name);
  if (found && !selection.tensors[*found].shape.empty())
    expected.shape = expected.shape.with(0, selection.tensors[*found].shape[0]);
  return expected;
}

}  // namespace

ExpectedTensors::ExpectedTensors(const std::optional<Expectation>& expectation, SourceStore& store,
                                 Communicator& processes) {
  if (!expectation) return;
  reference_ = Reference::load(expectation->reference, store, processes);
  allowances_ = expectation->allowances;
  if (expectation->dequantised) dequantise(*expectation->dequantised, store, processes);
}

void ExpectedTensors::dequantise(const DType& dtype, SourceStore& store, Communicator& processes) {
  if (reference_->data() == nullptr) return;
  auto how = Dequantisation::of(dtype, reference_->data()->checkpoint, store, processes);
  how.keep = [](const std::string&) { return false; };
  agree(processes, [&] { reference_->dequantise(how); });
  weights_of_codes_ = reference_->data()->checkpoint.dequantised()->weights_of_codes();
}

std::optional<Shape> ExpectedTensors::shape(const std::string& name) const {
  const auto number = reference_ ? reference_->find(name) : std::nullopt;
  if (!number) return std::nullopt;
  return Shape(reference_->tensors()[*number].shape);
}

std::optional<DType> ExpectedTensors::dtype(const std::string& name) const {
  const auto number = reference_ ? reference_->find(name) : std::nullopt;
  if (!number) return std::nullopt;
  return reference_->tensors()[*number].dtype;
}

std::vector<std::string> ExpectedTensors::names() const {
  std::vector<std::string> names;
  if (reference_)
    for (const Tensor& tensor : reference_->tensors()) names.push_back(tensor.name);
  return names;
}

Deviations ExpectedTensors::of(const Placement& placement) const {
  Selection all{placement.tensors(), std::vector<ParameterId>(placement.tensors().size())};
  std::iota(all.source_of.begin(), all.source_of.end(), ParameterId{0});
  return of(all, placement, nullptr);
}

Deviations ExpectedTensors::of(const Selection& selection, const Placement& source, const CountedNames* names,
                               bool has_hints) const {
  if (!reference_) return {};
  std::vector<Tensor> expected;
  for (const Tensor& tensor : reference_->tensors())
    if (names == nullptr || names->counts(tensor.name))
      expected.push_back(with_rows_of(selection, source.layout(), tensor));
  const std::string name = std::filesystem::path(reference_->origin()).filename().string();
  std::vector<Tensor> found = selection.tensors;
  for (std::size_t i = 0; i < found.size() && !of_any_dtype_.empty(); ++i)
    if (const auto other = dtype(found[i].name);
        other && of_any_dtype_.contains(source.tensors()[selection.source_of[i]].name))
      found[i].dtype = *other;
  return deviations(found, expected, name, allowances_, [&](std::size_t number, const Shape& shape) {
    return has_hints && selection.links_of(number) == nullptr
               ? explain_logical_shape(source, selection.source_of[number], shape)
               : "";
  });
}

void ExpectedTensors::warn_of_idle(const std::vector<const Deviations*>& all) const {
  if (!reference_) return;
  for (const std::string& warning : unused_allowances(allowances_, all)) log::warn("{}", warning);
}

void ExpectedTensors::refuse(const Deviations& found, const std::string& object, const std::string& change,
                             bool can_rename) const {
  warn_of_idle({&found});
  if (found.lines.empty()) return;
  for (const std::string& line : found.lines) log::error("{}", line);
  const char* const expected = "the same names, logical shapes and dtypes";
  if (change.empty() && can_rename && !found.renames.empty())
    throw Error(Kind::input, object, {found.outcome(), expected, "", {Advice::What::rename_all, found.renames}});
  throw Error(
      Kind::input, object,
      {found.outcome(), expected, change.empty() ? "mend the layout" : change, {Advice::What::excuse_by_name, ""}});
}

}  // namespace ckpt
