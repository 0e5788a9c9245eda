#include "frameworks/zero_tree.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "frameworks/zero_groups.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/branches.hpp"

namespace ckpt::deepspeed {

namespace {

using torch::no_node;
using torch::node_of;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;
using torch::PickleNode;

constexpr const char* partition_count = "partition_count";
constexpr const char* slice_module = "deepspeed.utils.tensor_fragment";
constexpr const char* slice_type = ".fragment_address";
constexpr std::uint64_t usual_sub_group_size = 1'000'000'000;

Pickle parsed_tree(const std::string& tree) {
  std::size_t at = 0;
  auto pickle = Pickle::read(tree, at);
  if (!pickle) throw Error(Kind::input, "its tree", {"ends before its object does", "a whole one", ""});
  return std::move(*pickle);
}

/// DeepSpeed's own computation: the part of each rank's slice behind the parameters' end. With BF16_Optimizer, which
/// saves no stage, the last rank reports all of it.
std::uint64_t padding(const GroupSlice& group, bool is_of_last_alone) {
  const std::uint64_t behind = group.first + group.each;
  if (is_of_last_alone) return behind == group.all ? group.all - group.end : 0;
  return std::min(group.each, behind > group.end ? behind - group.end : 0);
}

/// The values of `sub_group_size` that make groups of these lengths.
struct Bounds {
  std::uint64_t least = 1;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

void narrow(Bounds& bounds, const GroupSlice& group, std::uint64_t ranks, bool is_last) {
  std::uint64_t before = 0;
  std::uint64_t all = 0;
  for (const GroupSlice::Parameter& each : group.parameters) {
    before = all;
    all += (each.elements + ranks - 1) / ranks;
  }
  bounds.least = std::max(bounds.least, before + 1);
  if (!is_last) bounds.most = std::min(bounds.most, all);
}

}  // namespace

ZeroTree::ZeroTree(const std::string& tree) : tree_(parsed_tree(tree)) {
  optimizer_ = value(tree_.root(), "optimizer_state_dict");
  for (PickleId id = 0; id < tree_.nodes().size(); ++id)
    if (tree_[id].kind == PickleKind::global && tree_[id].text.ends_with(slice_type)) slice_class_ = id;
}

PickleId ZeroTree::value(PickleId dict, std::string_view key) const {
  const PickleId found = dict == no_node ? no_node : tree_.value_of(dict, key);
  return found != no_node && tree_[found].kind == PickleKind::none ? no_node : found;
}

void ZeroTree::set(PickleId dict, std::string_view key, PickleId to) {
  std::vector<PickleId>& items = tree_.change(dict).items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (tree_[items[i]].text == key) items[i + 1] = to;
}

PickleId ZeroTree::list_of(const std::vector<std::uint64_t>& numbers) {
  PickleNode list = node_of(PickleKind::list);
  for (const std::uint64_t number : numbers)
    list.items.push_back(torch::add_integer(tree_, static_cast<std::int64_t>(number)));
  return tree_.add(std::move(list));
}

void ZeroTree::set_ranks(std::uint64_t data_ranks, std::uint64_t model_ranks) {
  set(tree_.root(), "dp_world_size", torch::add_integer(tree_, static_cast<std::int64_t>(data_ranks)));
  set(tree_.root(), "mp_world_size", torch::add_integer(tree_, static_cast<std::int64_t>(model_ranks)));
}

void ZeroTree::set_shapes(const ShapeOf& shape_of) {
  if (const PickleId groups = value(tree_.root(), "param_shapes"); groups != no_node)
    for (const PickleId group : std::vector<PickleId>(tree_[groups].items))
      set_shapes_in(group, weights_folder, shape_of);
  if (const PickleId frozen = value(tree_.root(), "frozen_param_shapes"); frozen != no_node)
    set_shapes_in(frozen, frozen_folder, shape_of);
}

/// Several names may share one torch.Size, so each gets its own.
void ZeroTree::set_shapes_in(PickleId dict, const std::string& folder, const ShapeOf& shape_of) {
  std::vector<PickleId> items = tree_[dict].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto shape = shape_of(folder + std::string(tree_[items[i]].text));
    if (!shape || tree_[items[i + 1]].arguments == no_node) continue;
    PickleNode extents = node_of(PickleKind::tuple);
    for (const std::uint64_t extent : *shape)
      extents.items.push_back(torch::add_integer(tree_, static_cast<std::int64_t>(extent)));
    PickleNode arguments = node_of(PickleKind::tuple);
    arguments.items.push_back(tree_.add(std::move(extents)));
    PickleNode size = tree_[items[i + 1]];
    size.arguments = tree_.add(std::move(arguments));
    items[i + 1] = tree_.add(std::move(size));
  }
  tree_.change(dict).items = std::move(items);
}

void ZeroTree::set_partitions(std::uint64_t ranks) {
  const PickleId now = value(optimizer_, partition_count);
  if (now == no_node) return;
  const bool is_list = tree_[now].kind == PickleKind::list;
  set(optimizer_, partition_count,
      is_list ? list_of(std::vector<std::uint64_t>(tree_[now].items.size(), ranks))
              : torch::add_integer(tree_, static_cast<std::int64_t>(ranks)));
}

/// Makes fragment_address(numel, start).
PickleId ZeroTree::slice_node(const Interval& run) {
  if (slice_class_ == no_node) {
    PickleNode type = node_of(PickleKind::global);
    type.number = static_cast<std::int64_t>(std::string_view(slice_module).size());
    type.text = tree_.keep(std::string(slice_module) + slice_type);
    slice_class_ = tree_.add(std::move(type));
  }
  PickleNode state = node_of(PickleKind::dict);
  state.has_pairs = true;
  for (const auto& [key, number] : {std::pair{"numel", run.size()}, std::pair{"start", run.lo}}) {
    state.items.push_back(torch::add_text(tree_, key));
    state.items.push_back(torch::add_integer(tree_, static_cast<std::int64_t>(number)));
  }
  PickleNode slice = node_of(PickleKind::call, torch::op::newobj);
  slice.function = slice_class_;
  slice.arguments = tree_.add(node_of(PickleKind::tuple));
  slice.state = tree_.add(std::move(state));
  return tree_.add(std::move(slice));
}

void ZeroTree::set_slices(const std::vector<GroupSlice>& groups) {
  const PickleId paddings = value(optimizer_, "group_paddings");
  const PickleId slices = value(optimizer_, "param_slice_mappings");
  for (const PickleId list : {paddings, slices})
    if (list != no_node && tree_[list].items.size() != groups.size())
      throw Error(Kind::input, "optimizer_state_dict",
                  {"found " + std::to_string(tree_[list].items.size()) + " groups of parameters",
                   "the master weights of each in the output, which has those of " + std::to_string(groups.size()),
                   "leave none of them out (--drop, --only), or merge the checkpoint"});
  const bool is_of_last_alone = value(optimizer_, "zero_stage") == no_node;
  std::vector<std::uint64_t> numbers;
  for (const GroupSlice& group : groups) numbers.push_back(padding(group, is_of_last_alone));
  if (paddings != no_node) set(optimizer_, "group_paddings", list_of(numbers));
  if (slices == no_node) return;
  std::vector<PickleId> dicts = tree_[slices].items;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    PickleNode dict = tree_[dicts[g]];  // an empty one of the same class
    dict.has_pairs = true;
    dict.items.clear();
    for (const GroupSlice::Parameter& each : groups[g].parameters) {
      if (each.run.empty()) continue;
      dict.items.push_back(torch::add_text(tree_, each.name));
      dict.items.push_back(slice_node(each.run));
    }
    dicts[g] = tree_.add(std::move(dict));
  }
  tree_.change(slices).items = std::move(dicts);
}

std::uint64_t ZeroTree::sub_group_size() const {
  const PickleId config = value(value(tree_.root(), "ds_config"), "zero_optimization");
  const PickleId size = value(config, "sub_group_size");
  if (size == no_node) return usual_sub_group_size;
  const PickleNode& node = tree_[size];
  if (node.kind == PickleKind::integer && node.number > 0) return static_cast<std::uint64_t>(node.number);
  constexpr double most = 1e18;
  if (node.kind == PickleKind::real && node.real() >= 1 && node.real() <= most)
    return static_cast<std::uint64_t>(node.real());
  return usual_sub_group_size;
}

void ZeroTree::check_groups(const std::vector<GroupSlice>& groups, std::uint64_t ranks, bool is_told) const {
  const PickleId param_groups = value(value(optimizer_, "optimizer_state_dict"), "param_groups");
  if (param_groups == no_node) return;
  Bounds bounds;
  for (const PickleId param_group : tree_[param_groups].items) {
    const PickleId params = value(param_group, "params");
    if (params == no_node) continue;
    const auto& numbers = tree_[params].items;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (const auto g = static_cast<std::uint64_t>(tree_[numbers[i]].number); g < groups.size())
        narrow(bounds, groups[g], ranks, i + 1 == numbers.size());
  }
  const std::uint64_t size = sub_group_size();
  if (size >= bounds.least && size <= bounds.most) return;
  const std::string what = "\"sub_group_size\" of zero_optimization";
  if (bounds.least > bounds.most)
    throw Error(Kind::input, "optimizer_state_dict",
                {"found groups of parameters that DeepSpeed does not make on " + std::to_string(ranks) + " ranks",
                 "one " + what + " that gives them all", "choose another number of ranks, or merge the checkpoint"});
  if (is_told)
    log::warn(
        "on {} ranks DeepSpeed makes the groups of parameters that this checkpoint has where {} is {} (it was {}): set "
        "that",
        ranks, what, bounds.most < size ? bounds.most : bounds.least, size);
}

std::string ZeroTree::take() const {
  torch::PickleWriter out(tree_.protocol());
  torch::PickleCopy copy(tree_, out, [](PickleId) { return false; });
  copy.node(tree_.root());
  return out.take();
}

}  // namespace ckpt::deepspeed
