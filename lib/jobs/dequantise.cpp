#include "jobs/dequantise.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/dequantised_files.hpp"

namespace ckpt {

namespace {

/// A quick look, which spares most jobs a thorough one.
bool may_be_quantised(const Tensor& tensor) {
  constexpr std::array<std::string_view, 5> endings{"qweight", "_packed", "_blocks", ".absmax", ".SCB"};
  return is_fp8(tensor.dtype) || tensor.dtype.name == "f4_e2m1x2" ||
         std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return tensor.name.ends_with(end); });
}

bool may_have_codes(const Checkpoint& checkpoint, const Placement& placement) {
  return checkpoint.dequantised() == nullptr && std::ranges::any_of(placement.tensors(), may_be_quantised);
}

/// Throws another error in place of a map's if that is about a tensor of a quantised weight that no map moves: only
/// scales of 8-bit floats follow their codes.
void refuse_unmoved(const Error& error, const Placement& source) {
  for (const QuantisedWeight& weight : quantised_weights(source.tensors(), {}).weights) {
    std::vector<std::string> names;
    weight.for_each_tensor([&](const std::string& name) { names.push_back(name); });
    const auto codes = source.find(weight.codes);
    const bool is_meant = std::ranges::find(names, error.parameter()) != names.end();
    if (!is_meant || (codes && is_fp8(source.tensors()[*codes].dtype))) continue;
    throw Error(error.kind(), "weight '" + weight.name + "'",
                {"it is " + weight.what + " in " + join(names) + ", and the map does not take each of these whole",
                 "numbers, or 8-bit floats with their scales", "--dequantize bf16 makes numbers of them first"});
  }
}

/// Groups of inputs in an order of their own lie anywhere, so that no part of the inputs has its own scales.
void check_reordered(const QuantisedWeight& weight, const Placement& target) {
  const auto codes = target.find(weight.codes);
  if (weight.form != QuantisedWeight::Form::gptq || weight.groups.empty() || !codes) return;
  target.for_each_shard(*codes, whole(target.tensors()[*codes].shape), [&](Position, const Region& region) {
    if (region.box.lo[0] == 0) return;
    throw Error(Kind::layout, target.layout().origin + ": parameter '" + weight.codes + "'",
                {"it is cut at input " + std::to_string(region.box.lo[0] * 8) + ", and '" + weight.groups +
                     "' has its inputs in any group (desc_act in config.json)",
                 "all inputs on each card", "cut its outputs alone, or give --dequantize bf16"});
  });
}

}  // namespace

void dequantise(Checkpoint& checkpoint, const DType& dtype, const NameChoice& names, const std::optional<DType>& asked,
                SourceStore& store, Communicator& processes) {
  auto how = Dequantisation::of(dtype, checkpoint, store, processes);
  agree(processes, [&] {
    const NameFilter filter(names);
    how.keep = [&](const std::string& name) { return filter.is_kept(name); };
    checkpoint.dequantise(how);
    if (!asked) return;
    const DequantisedFiles& made = *checkpoint.dequantised();
    const std::string option = "--dequantize " + asked->name.str();
    if (made.summary().empty())
      log::warn("{}: no weight of {} is quantised", option, checkpoint.path().string());
    else
      log::info("{}: weights become numbers, {}", option, made.summary());
    if (!made.left_out().empty()) log::info("{}: left out with the codes: {}", option, join(made.left_out()));
  });
}

Selection select_weights(const NameChoice& names, const Placement& source,
                         const std::map<std::string, std::string>& masters) {
  try {
    return select(names, source, masters);
  } catch (const Error& error) {
    if (names.mapping && std::ranges::any_of(source.tensors(), may_be_quantised)) refuse_unmoved(error, source);
    throw;
  }
}

std::string advice_on_codes(const Selection& selection, const ExpectedTensors& expected) {
  for (const Tensor& tensor : selection.tensors)
    if (may_be_quantised(tensor) && !expected.dtype(tensor.name))
      return "the source's weights are quantised, and those of " + expected.origin() +
             " are not: give --dequantize bf16";
  const Reference* const reference = expected.reference();
  if (reference == nullptr) return "";
  for (const Tensor& tensor : reference->tensors()) {
    if (may_be_quantised(tensor) && !selection.find(tensor.name))
      return "the weights of " + expected.origin() +
             " are quantised, and the source's are not: give a model of numbers";
  }
  return "";
}

void refuse_codes(const Checkpoint& checkpoint, const Placement& placement, Communicator& processes) {
  if (!may_have_codes(checkpoint, placement)) return;
  const QuantisationConfig config = quantisation_config(checkpoint, processes);
  agree(processes, [&] {
    const QuantisedWeights found = quantised_weights(placement.tensors(), config);
    if (!found.weights.empty())
      throw Error(Kind::usage, checkpoint.path().string(),
                  {"its weights are quantised: " + found.summary(), "numbers: codes have no average",
                   "give --dequantize bf16"});
  });
}

void check_moved_codes(const Checkpoint& checkpoint, const Placement& source, const Placement& target,
                       Communicator& processes) {
  const auto may_be_part = [](const Tensor& tensor) {
    return may_be_quantised(tensor) || is_named_as_scales(tensor.name);
  };
  if (checkpoint.dequantised() != nullptr || std::ranges::none_of(source.tensors(), may_be_part)) return;
  const std::vector<Tensor>& tensors = source.tensors();
  QuantisationConfig config;
  std::optional<Error> unread;
  try {
    config = quantisation_config(checkpoint, processes);
  } catch (const Error& error) {  // on every process
    unread = error;
  }
  agree(processes, [&] {
    const QuantisedWeights found = quantised_weights(tensors, config);
    if (!found.incomplete.empty())
      log::warn("{}: quantised weights of which a part is not there: {}; are all files there, or was it left out?",
                checkpoint.path().string(), join(found.incomplete, 3));
    if (found.weights.empty()) return;
    log::info("quantised weights stay codes with their scales: {}", found.summary());
    for (const QuantisedWeight& weight : found.weights) {
      if (unread && !weight.groups.empty()) throw Error(*unread);  // it would say whether inputs are reordered
      if (config.is_reordered) check_reordered(weight, target);
    }
  });
}

}  // namespace ckpt
