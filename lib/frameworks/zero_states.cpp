#include "frameworks/zero_states.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "store/guarded_reading.hpp"
#include "store/torch/branches.hpp"
#include "store/zip/archive.hpp"

namespace ckpt::deepspeed {

namespace {

using torch::no_node;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;
using torch::PickleNode;

[[noreturn]] void refuse(const std::string& where, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, where, {"found " + found, expected, "was it written by DeepSpeed's save_checkpoint?"});
}

std::uint64_t count_at(const Pickle& tree, std::string_view key) {
  const PickleId id = tree.value_of(tree.root(), key);
  if (id == no_node || tree[id].kind != PickleKind::integer || tree[id].number < 1)
    refuse(std::string(key), "no number of ranks", "one of at least 1");
  return static_cast<std::uint64_t>(tree[id].number);
}

/// A value that is present and not None, or no_node.
PickleId given(const Pickle& tree, std::string_view key) {
  const PickleId id = tree.value_of(tree.root(), key);
  return id != no_node && tree[id].kind == PickleKind::none ? no_node : id;
}

/// Reads torch.Size((13, 6)).
Shape size_of(const Pickle& tree, PickleId id, const std::string& where) {
  if (!tree.is_call_of(id, "torch.Size")) refuse(where, "no shape", "a torch.Size");
  const PickleNode& arguments = tree[tree[id].arguments];
  if (arguments.kind != PickleKind::tuple || arguments.items.size() != 1) refuse(where, "no shape", "a torch.Size");
  Shape shape;
  for (const PickleId extent : tree[arguments.items.front()].items) {
    if (tree[extent].kind != PickleKind::integer || tree[extent].number < 0)
      refuse(where, "a torch.Size of something else than numbers", "the extents of the parameter");
    shape.push_back(static_cast<std::uint64_t>(tree[extent].number));
  }
  return shape;
}

std::vector<torch::Branch> pairs_in(const Pickle& tree, PickleId dict, const std::string& where) {
  auto branches = torch::is_container(tree, dict) ? torch::branches_of(tree, dict) : std::vector<torch::Branch>();
  const bool is_dict = tree[dict].kind == PickleKind::dict || tree.name_of(dict) == torch::ordered_dict;
  if (!is_dict || (!branches.empty() && branches.front().key_node == no_node))
    refuse(where, "something else than a dict", "names with their shapes");
  return branches;
}

std::vector<NamedShape> shapes_in(const Pickle& tree, PickleId dict, const std::string& where) {
  std::vector<NamedShape> shapes;
  for (const torch::Branch& each : pairs_in(tree, dict, where))
    shapes.push_back({each.key, size_of(tree, each.value, where + "/" + each.key)});
  return shapes;
}

ModelStates states_in(const PosixFile& file, std::uint64_t bytes) {
  return model_states(torch::read_archive(file, bytes).tree);
}

ModelStates states_with_optimizer(const PosixFile& file, std::uint64_t bytes) {
  const torch::Archive archive = torch::read_archive(file, bytes);
  ModelStates states = model_states(archive.tree);
  if (states.groups.empty()) states.optimizer = states_of_weights(archive.tree, archive.storages);
  return states;
}

}  // namespace

ModelStates read_model_states(const std::filesystem::path& path, bool with_optimizer) {
  return with_file(path.string(), [&] {
    const PosixFile file = PosixFile::open_for_reading(path);
    const std::uint64_t bytes = file.status().bytes;
    const IsolationLimits limits = torch::limits_of_file(bytes);
    return with_optimizer ? read_guarded<states_with_optimizer>(file, bytes, "torch", limits)
                          : read_guarded<states_in>(file, bytes, "torch", limits);
  });
}

ModelStates model_states(const Pickle& tree) {
  ModelStates states;
  states.data_ranks = count_at(tree, "dp_world_size");
  states.model_ranks = count_at(tree, "mp_world_size");
  if (const PickleId groups = given(tree, "param_shapes"); groups != no_node) {
    if (tree[groups].kind != PickleKind::list || tree[groups].items.empty())
      refuse("param_shapes", "no list of shapes", "what each group of parameters holds, as ZeRO saves it");
    for (const PickleId group : tree[groups].items)
      states.groups.push_back(shapes_in(tree, group, "param_shapes/" + std::to_string(states.groups.size())));
  }
  if (const PickleId frozen = given(tree, "frozen_param_shapes"); frozen != no_node)
    states.frozen = shapes_in(tree, frozen, "frozen_param_shapes");
  if (const PickleId shared = given(tree, "shared_params"); shared != no_node)
    for (const torch::Branch& each : pairs_in(tree, shared, "shared_params"))
      states.tied.push_back({each.key, std::string(tree[each.value].text)});
  if (const PickleId buffers = given(tree, "buffer_names"); buffers != no_node)
    for (const PickleId name : tree[buffers].items) states.buffers.emplace_back(tree[name].text);
  return states;
}

bool lists_same_parameters(const ModelStates& one, const ModelStates& other) {
  const auto has_name = [](const NamedShape& a, const NamedShape& b) { return a.name == b.name; };
  return std::equal(
      one.groups.begin(), one.groups.end(), other.groups.begin(), other.groups.end(),
      [&](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end(), has_name); });
}

}  // namespace ckpt::deepspeed
