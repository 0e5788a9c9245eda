#include "diagnosis/fused_rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "diagnosis/draft/fused_names.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt {

namespace {

/// By its name, an axis over which FSDP or ZeRO shard, whatever a row means, or that layers or experts are dealt to.
bool cuts_no_heads(std::string_view axis) {
  constexpr std::array<std::string_view, 14> names{"cp",          "data", "dp",    "dp_cp",  "dp_shard",
                                                   "dp_shard_cp", "edp",  "ep",    "expert", "experts",
                                                   "fsdp",        "pp",   "shard", "zero"};
  return std::ranges::find(names, axis) != names.end();
}

/// Whether heads or pairs are cut in the dimension that may be fused: a weight's outputs, or either of an expert's two.
bool is_cut_for_heads(const Sharding& sharding, const Mesh& mesh, const Tensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  const bool has_outputs_last = tensor.name.str().find("c_attn") != std::string::npos;  // GPT-2's Conv1D
  for (std::size_t d = 0; d < sharding.axes.size(); ++d) {
    const bool may_be_fused = rank > 2 ? d + 2 >= rank : d == (has_outputs_last ? 1U : 0U);
    if (may_be_fused && std::ranges::any_of(sharding.axes[d], [&](Axis axis) {
          return mesh.shape[axis] > 1 && !cuts_no_heads(mesh.axes[axis]);
        }))
      return true;
  }
  return false;
}

/// Megatron's linear_qkv holds a group of heads after the other, so that a cut between groups leaves each whole.
bool has_whole_groups(std::string_view name) {
  return name.find("linear_qkv") != std::string_view::npos;
}

}  // namespace

std::vector<std::string> fused_without_parts(const Placement& placement) {
  const Layout& layout = placement.layout();
  std::vector<std::string> names;
  for (ParameterId p = 0; p < placement.tensors().size(); ++p) {
    const Tensor& tensor = placement.tensors()[p];
    const Sharding& sharding = placement.shardings()[p];
    const bool may_be_fused = drafting::usual_parts(tensor.name) != 0 && !has_whole_groups(tensor.name.str());
    if (tensor.shape.size() < 2 || !sharding.rule || !may_be_fused) continue;
    const Rule& rule = layout.parameters[*sharding.rule];
    if (!rule.like && !rule.keys.parts && !rule.keys.sizes && is_cut_for_heads(sharding, layout.mesh, tensor))
      names.push_back(tensor.name);
  }
  return describe_groups(group_names(names));
}

}  // namespace ckpt
