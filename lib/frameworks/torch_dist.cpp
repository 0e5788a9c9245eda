#include "frameworks/torch_dist.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "store/dcp/dcp_directory.hpp"

namespace ckpt {

namespace {

/// Begins the names in forms that depend on the optimizer's buffers.
constexpr std::string_view buffer_prefix = "optimizer.distributed.";
/// Master weights, and Adam's state.
constexpr std::string_view states[] = {"param", "exp_avg", "exp_avg_sq"};
/// States, named by numbers, of an optimizer that is not distributed.
constexpr std::string_view numbered_states[] = {"optimizer/optimizer/state/", "optimizer/fp32_from_fp16_params/"};

/// A norm before a matrix gets the name that it has where one module contains both (Transformer Engine).
struct FusedNorm {
  std::string_view norm;
  std::string_view matrix;
};
constexpr FusedNorm fused_norms[] = {{"input_layernorm.", "self_attention.linear_qkv."},
                                     {"pre_mlp_layernorm.", "mlp.linear_fc1."}};

/// A weight's name without the folder; `weights`: all weights' names.
std::string name_with_fused_norms(const std::string& weight, const std::set<std::string>& weights) {
  for (const FusedNorm& fused : fused_norms) {
    const std::size_t at = weight.find(fused.norm);
    if (at == std::string::npos || (at > 0 && weight[at - 1] != '.')) continue;
    const std::string matrix = weight.substr(0, at) + std::string(fused.matrix);
    if (weights.contains(matrix + "weight")) return matrix + "layer_norm_" + weight.substr(at + fused.norm.size());
  }
  return weight;
}

void check_has_name(const std::string& name) {
  for (const std::string_view numbered : numbered_states)
    if (name.starts_with(numbered))
      throw Error(Kind::usage, "parameter " + name,
                  {"has a number for a name: of which weight it is the state is not said", "exp_avg/a.weight",
                   "name each by its weight (--rename), or write the weights alone (--only 'model/*')"});
}

std::set<std::string> weights_in(const std::vector<Tensor>& tensors) {
  std::set<std::string> weights;
  for (const Tensor& tensor : tensors)
    if (tensor.name.starts_with(torch_dist::weights_folder) && !tensor.name.ends_with(torch_dist::extra_state))
      weights.insert(tensor.name.str().substr(torch_dist::weights_folder.size()));
  if (weights.empty())
    throw Error(Kind::usage, "--format torch_dist",
                {"the source has no parameter model/…", "the weights that Megatron saves with --ckpt-format torch",
                 "give a layout after layouts/megatron-legacy.json, or take --format dcp"});
  const auto expert = std::find_if(weights.begin(), weights.end(),
                                   [](const std::string& name) { return name.find(".experts.") != std::string::npos; });
  if (expert != weights.end())
    throw Error(Kind::usage, "parameter model/" + *expert,
                {"is of an expert", "a model without experts, which torch_dist puts into one tensor",
                 "load the checkpoint with Megatron and save it as torch_dist, or take --format dcp"});
  return weights;
}

}  // namespace

bool is_torch_dist(const Store& format) {
  return format.name() == torch::torch_dist_format;
}

bool has_form_of(const FileCatalog& file, const Store& format) {
  return file.schema->format == (is_torch_dist(format) ? torch::dcp_format : format.name());
}

std::vector<std::string> torch_dist_names(const std::vector<Tensor>& tensors) {
  const std::set<std::string> weights = weights_in(tensors);
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    const std::size_t slash = tensor.name.str().find('/');
    const std::string below = slash == std::string::npos ? "" : tensor.name.str().substr(slash + 1);
    std::string& name = names.emplace_back();
    if (!weights.contains(below)) {
      check_has_name(tensor.name);
      continue;
    }
    const std::string word = tensor.name.str().substr(0, slash + 1);
    if (word != torch_dist::weights_folder)
      name = std::string(torch_dist::state_prefix) + tensor.name.str().substr(0, slash) + ".";
    name += name_with_fused_norms(below, weights);
  }
  return names;
}

std::string unread_states(const std::vector<std::string>& names) {
  std::set<std::string> others;
  for (const std::string& name : names) {
    if (!name.starts_with(torch_dist::state_prefix)) continue;
    const std::string rest = name.substr(torch_dist::state_prefix.size());
    const std::string word = rest.substr(0, rest.find('.'));
    if (std::find(std::begin(states), std::end(states), word) == std::end(states)) others.insert(word);
  }
  if (others.empty()) return "";
  return "states of the optimizer that Megatron does not read: " + join({others.begin(), others.end()}) +
         "; it knows param, exp_avg and exp_avg_sq before the weights' names (--rename)";
}

void check_torch_dist_names(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors)
    if (tensor.name.str().find(buffer_prefix) != std::string::npos)
      throw Error(
          Kind::usage, "parameter " + tensor.name,
          {"is a buffer of the optimizer (dp_reshardable), which does not say where its parameters lie",
           "its state by parameters (fully_reshardable)",
           "load it once with Megatron on the same tensor and pipeline ranks and save it with "
           "--dist-ckpt-optim-fully-reshardable; or leave it out with --drop 'optimizer.*'; --format dcp keeps it "
           "as it is"});
}

}  // namespace ckpt
