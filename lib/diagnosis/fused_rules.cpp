#include "diagnosis/fused_rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "diagnosis/draft/fused_names.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt {

namespace {

/// By its name, an axis over which FSDP or ZeRO shard, whatever a row means.
bool is_of_data(std::string_view axis) {
  constexpr std::array<std::string_view, 6> names{"data", "dp", "dp_shard", "fsdp", "shard", "zero"};
  return std::ranges::find(names, axis) != names.end();
}

bool is_cut_for_heads(const Sharding& sharding, const Mesh& mesh) {
  return std::ranges::any_of(sharding.axes, [&](const std::vector<Axis>& axes) {
    return std::ranges::any_of(axes, [&](Axis axis) { return mesh.shape[axis] > 1 && !is_of_data(mesh.axes[axis]); });
  });
}

}  // namespace

std::vector<std::string> fused_without_parts(const Placement& placement) {
  const Layout& layout = placement.layout();
  std::vector<std::string> names;
  for (ParameterId p = 0; p < placement.tensors().size(); ++p) {
    const Tensor& tensor = placement.tensors()[p];
    const Sharding& sharding = placement.shardings()[p];
    if (tensor.shape.size() < 2 || !sharding.rule || drafting::usual_parts(tensor.name) == 0) continue;
    const Rule& rule = layout.parameters[*sharding.rule];
    if (!rule.like && !rule.keys.parts && !rule.keys.sizes && is_cut_for_heads(sharding, layout.mesh))
      names.push_back(tensor.name);
  }
  return describe_groups(group_names(names));
}

}  // namespace ckpt
