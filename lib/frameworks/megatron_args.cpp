#include "frameworks/megatron_args.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "store/dcp/path_tree.hpp"
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
  std::string_view axis;  ///< or field
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

/// Arguments with the same meaning as fields of config.json, under all names that families give them.
constexpr std::array<ArgumentOfAxis, 9> arguments_of_fields{{{"hidden_size", "hidden_size"},
                                                             {"hidden_size", "n_embd"},
                                                             {"num_attention_heads", "num_attention_heads"},
                                                             {"num_attention_heads", "n_head"},
                                                             {"num_query_groups", "num_key_value_heads"},
                                                             {"kv_channels", "head_dim"},
                                                             {"num_experts", "num_experts"},
                                                             {"num_experts", "num_local_experts"},
                                                             {"num_experts", "n_routed_experts"}}};

/// The arguments' object, in a file's tree or in a DCP directory's; or no_node.
PickleId object_in(const Pickle& tree) {
  const std::vector<PickleId> behind = torch::behind_paths(tree);
  if (behind.empty()) return tree.value_of(tree.root(), "args");
  const std::vector<PickleId>& pairs = tree[behind[0]].items;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (torch::tree_name(torch::path_of(tree, pairs[i])) == "args") return pairs[i + 1];
  return no_node;
}

/// The dict of arguments, or no_node.
PickleId arguments_in(const Pickle& tree) {
  const PickleId object = object_in(tree);
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

std::optional<MegatronArgs> megatron_args(const std::string& tree) {
  if (tree.find("num_attention_heads") == std::string::npos) return std::nullopt;
  std::size_t at = 0;
  auto pickle = Pickle::read(tree, at);
  if (!pickle) return std::nullopt;
  const PickleId arguments = arguments_in(*pickle);
  if (arguments == no_node) return std::nullopt;
  std::map<std::string_view, std::int64_t> sizes;
  MegatronArgs args;
  const std::vector<PickleId>& items = (*pickle)[arguments].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto& key = (*pickle)[items[i]];
    const auto& value = (*pickle)[items[i + 1]];
    if (key.kind != PickleKind::text) continue;
    if (value.kind == PickleKind::integer || value.kind == PickleKind::boolean) sizes[key.text] = value.number;
    if (value.kind == PickleKind::text && key.text == "optimizer") args.optimizer = value.text;
  }
  // Where queries are not grouped, each head is a group, whatever the argument says. Latent attention has heads of
  // other sizes, which a config.json states in fields of its own.
  const auto grouped = sizes.find("group_query_attention");
  const auto latent = sizes.find("multi_latent_attention");
  if (grouped == sizes.end() || (latent != sizes.end() && latent->second != 0))
    for (const char* const unknown : {"num_attention_heads", "num_query_groups", "kv_channels"}) sizes.erase(unknown);
  else if (grouped->second == 0)
    sizes["num_query_groups"] = sizes["num_attention_heads"];
  auto config = nlohmann::json::object();
  for (const auto& [argument, field] : arguments_of_fields)
    if (const auto size = sizes.find(argument); size != sizes.end()) config[std::string(field)] = size->second;
  args.config = config.dump();
  return args;
}

}  // namespace ckpt
