#include "jobs/expectation.hpp"

#include <numeric>

#include "base/error.hpp"
#include "base/log.hpp"
#include "layout/explain_logical_shape.hpp"

namespace ckpt {

ExpectedTensors::ExpectedTensors(const std::optional<Expectation>& expectation, SourceStore& store,
                                 Communicator& processes) {
  if (!expectation) return;
  reference_ = Reference::load(expectation->reference, store, processes);
  excuses_ = expectation->excuses;
}

std::optional<Extents> ExpectedTensors::shape(const std::string& name) const {
  const auto number = reference_ ? reference_->find(name) : std::nullopt;
  if (!number) return std::nullopt;
  return reference_->tensors()[*number].shape;
}

Deviations ExpectedTensors::of(const Placement& placement) const {
  Selection all{placement.tensors(), std::vector<ParameterId>(placement.tensors().size())};
  std::iota(all.source_of.begin(), all.source_of.end(), ParameterId{0});
  return of(all, placement, [](const std::string&) { return true; });
}

Deviations ExpectedTensors::of(const Selection& selection, const Placement& source,
                               const std::function<bool(const std::string& name)>& is_expected) const {
  if (!reference_) return {};
  std::vector<Tensor> expected;
  for (const Tensor& tensor : reference_->tensors())
    if (is_expected(tensor.name)) expected.push_back(tensor);
  const std::string name = std::filesystem::path(reference_->origin()).filename().string();
  return deviations(selection.tensors, expected, name, excuses_, [&](std::size_t number, const Extents& shape) {
    return explain_logical_shape(source, selection.source_of[number], shape);
  });
}

Deviations ExpectedTensors::of(const Selection& selection, const Resolved& source, const NameChoice& choice) const {
  if (!reference_) return {};
  const Wishes wishes(choice);
  const std::set<std::string> left_out = left_out_names(choice, source, selection);
  std::set<std::string> taken;
  for (const Tensor& tensor : selection.tensors) taken.insert(tensor.name);
  return of(selection, source.placement, [&](const std::string& name) {
    return taken.contains(name) || (!left_out.contains(name) && wishes.is_kept(name));
  });
}

void refuse_deviations(const Deviations& found, const std::string& object) {
  for (const std::string& warning : found.warnings) spdlog::warn("{}", warning);
  if (found.lines.empty()) return;
  for (const std::string& line : found.lines) spdlog::error("{}", line);
  throw Error(Kind::input, object,
              {std::to_string(found.tensors) + (found.tensors == 1 ? " parameter is" : " parameters are") + " not as " +
                   found.reference + " has " + (found.tensors == 1 ? "it" : "them"),
               "expected the same names, logical shapes and dtypes",
               "mend the layout",
               {Advice::What::excuse_by_name, ""}});
}

}  // namespace ckpt
