#include "frameworks/megatron_args.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle.hpp"
#include "store/pickle/pickle_writer.hpp"

namespace ckpt {

namespace {

using torch::no_node;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;

struct ArgumentOfAxis {
  std::string_view argument;
  std::string_view axis;
};

/// Without the axes of copies: a checkpoint need not have all copies.
constexpr std::array<ArgumentOfAxis, 3> arguments_of_axes{{{"tensor_model_parallel_size", "tp"},
                                                           {"pipeline_model_parallel_size", "pp"},
                                                           {"expert_model_parallel_size", "ep"}}};

/// The size for an argument; nothing for other arguments, or if the mesh has no such axis.
std::optional<std::uint64_t> size_of(std::string_view argument, const Mesh& mesh) {
  const auto found = std::find_if(arguments_of_axes.begin(), arguments_of_axes.end(),
                                  [&](const ArgumentOfAxis& each) { return each.argument == argument; });
  if (found == arguments_of_axes.end()) return std::nullopt;
  if (mesh.size() == 1) return 1;
  const auto axis = std::find(mesh.axes.begin(), mesh.axes.end(), found->axis);
  if (axis == mesh.axes.end()) return std::nullopt;
  return mesh.shape[static_cast<std::size_t>(axis - mesh.axes.begin())];
}

/// The dict of arguments, or no_node.
PickleId arguments_in(const Pickle& tree) {
  const PickleId object = tree.value_of(tree.root(), "args");
  if (object == no_node || tree.name_of(object) != "argparse.Namespace") return no_node;
  const PickleId state = tree[object].state;
  return state != no_node && tree[state].kind == PickleKind::dict ? state : no_node;
}

}  // namespace

std::optional<std::string> with_mesh_in_args(const std::string& tree, const Mesh& mesh) {
  if (tree.find(arguments_of_axes.front().argument) == std::string::npos) return std::nullopt;
  std::size_t at = 0;
  auto pickle = Pickle::read(tree, at);
  const PickleId arguments = pickle ? arguments_in(*pickle) : no_node;
  if (arguments == no_node) return std::nullopt;
  bool is_changed = false;
  for (std::size_t i = 0; i + 1 < (*pickle)[arguments].items.size(); i += 2) {
    const auto& key = (*pickle)[(*pickle)[arguments].items[i]];
    const auto& value = (*pickle)[(*pickle)[arguments].items[i + 1]];
    if (key.kind != PickleKind::text || value.kind != PickleKind::integer) continue;
    const auto size = size_of(key.text, mesh);
    if (!size || value.number == static_cast<std::int64_t>(*size)) continue;
    // A new node: other values may share the old one.
    const PickleId number = torch::add_integer(*pickle, static_cast<std::int64_t>(*size));
    pickle->change(arguments).items[i + 1] = number;
    is_changed = true;
  }
  if (!is_changed) return std::nullopt;
  torch::PickleWriter out(pickle->protocol());
  torch::PickleCopy(*pickle, out, [](PickleId) { return false; }).node(pickle->root());
  return out.take();
}

}  // namespace ckpt
