#include "frameworks/zero_groups.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace ckpt::deepspeed {

namespace {

constexpr const char* root = "optimizer_state_dict";
constexpr const char* not_zero = "was it written by ZeRO?";

bool holds_names_of(const Schema& schema, const std::string& path) {
  const auto& arrays = *schema.arrays;
  return std::any_of(arrays.begin(), arrays.end(),
                     [&](const StoredArray& array) { return array.name.starts_with(path); });
}

/// An attribute of a group, or null.
const Value* attribute(const Schema& schema, const std::string& path, const std::string& name) {
  for (const Group& group : schema.groups)
    if (group.path == path)
      for (const Attribute& each : group.attributes)
        if (each.name == name) return &each.value;
  return nullptr;
}

/// The numbers of an attribute, one or a list; none where there is no such attribute.
std::vector<std::uint64_t> numbers(const Schema& schema, const std::string& path, const std::string& name) {
  const Value* const value = attribute(schema, path, name);
  if (value == nullptr || !value->shape) return {};
  Value list = *value;
  if (list.shape->empty()) list.shape = Shape{1};
  return whole_numbers_in(list).value_or(std::vector<std::uint64_t>());
}

/// The places of a rank's tensors in the tree of its file.
struct TreePaths {
  std::string master;
  std::string state;  ///< "…/state/", before the group's number
  bool is_of_pieces = false;
  bool is_lean = false;  ///< an elastic checkpoint: the optimizer's states have no padding, either
};

TreePaths tree_paths_in(const Schema& optimizer, bool of_pieces) {
  TreePaths tree_paths;
  tree_paths.is_of_pieces = of_pieces;
  tree_paths.master = of_pieces ? flat_groups_of_pieces : flat_groups;
  tree_paths.state = std::string(root) + (of_pieces ? "/optimizer_state_dict/" : "/base_optimizer_state/");
  if (!holds_names_of(optimizer, tree_paths.master))
    throw Error(Kind::input, "/" + tree_paths.master,
                {"found no tensors in it", "one for each group of parameters, with its weights end to end", not_zero});
  // Elastic checkpoints have a list of groups where torch has a dict.
  tree_paths.is_lean = !tree_paths.is_of_pieces && !holds_names_of(optimizer, tree_paths.state + "state/");
  if (!tree_paths.is_lean) tree_paths.state += "state/";
  return tree_paths;
}

/// Whether the file states its ZeRO stage. BF16_Optimizer, which ZeRO-1 may use, does not, and pads master weights.
bool says_stage(const Schema& optimizer) {
  const std::string name = std::string(root) + "/zero_stage";
  return attribute(optimizer, root, "zero_stage") != nullptr ||
         std::any_of(optimizer.leaves.begin(), optimizer.leaves.end(),
                     [&](const Leaf& leaf) { return leaf.name == name; });
}

/// Splits a name below `state` into the group's number and the rest.
std::optional<std::pair<std::size_t, std::string>> kept_as(const std::string& name, const std::string& state) {
  if (!name.starts_with(state)) return std::nullopt;
  const std::string rest = name.substr(state.size());
  std::size_t group = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), group);
  const auto at = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || at + 1 >= rest.size() || rest[at] != '/') return std::nullopt;
  return std::pair{group, rest.substr(at + 1)};
}

class ZeroGroups {
 public:
  ZeroGroups(const ModelStates& states, const std::vector<const Schema*>& optimizers, bool of_pieces)
      : states_(states),
        optimizers_(optimizers),
        first_(*optimizers.front()),
        tree_paths_(tree_paths_in(first_, of_pieces)) {}

  std::vector<ZeroGroup> read() {
    check_ranks();
    std::vector<std::vector<OptimizerState>> kept(states_.groups.size());
    for (const StoredArray& array : *first_.arrays)
      if (auto found = kept_as(array.name, tree_paths_.state); found && found->first < kept.size())
        kept[found->first].push_back({&array, std::move(found->second)});
    std::vector<ZeroGroup> groups;
    for (std::size_t g = 0; g < states_.groups.size(); ++g) {
      groups.push_back({align_of(g), {}});
      const Size size = size_of(states_.groups[g], groups.back().align);
      groups.back().states.push_back(master(g, size));
      for (const OptimizerState& each : kept[g]) groups.back().states.push_back(state(*each.array, each.word, size));
    }
    return groups;
  }

 private:
  /// A state that the optimizer keeps for a group.
  struct OptimizerState {
    const StoredArray* array;
    std::string word;
  };
  /// Sizes in elements.
  struct Size {
    std::uint64_t end = 0;   ///< all parameters, without padding
    std::uint64_t each = 0;  ///< one rank's slice
  };

  /// Refuses groups of only some ranks (MiCS, experts), which distribute their parameters differently.
  void check_ranks() const {
    std::set<const Schema*> seen;
    for (const Schema* const schema : optimizers_)
      if (seen.insert(schema).second)
        for (const std::uint64_t count : numbers(*schema, root, "partition_count"))
          if (count != states_.data_ranks)
            throw Error(Kind::input, std::string(root) + "/partition_count",
                        {"found " + std::to_string(count),
                         std::to_string(states_.data_ranks) + ", as dp_world_size of the model states is",
                         "are the files those of one save? Groups of fewer ranks (MiCS, experts) need a layout"});
    const std::string placed = std::string(root) + "/ds_zero_partition_groups";
    const auto& arrays = first_.leaves;
    if (std::any_of(arrays.begin(), arrays.end(), [&](const Leaf& leaf) { return leaf.name.starts_with(placed); }))
      throw Error(
          Kind::input, "/" + placed,
          {"found experts that are placed by themselves (AutoEP)", "one group of ranks for all", "give a layout"});
  }

  Size size_of(const std::vector<NamedShape>& group, std::uint64_t align) const {
    const std::uint64_t ranks = states_.data_ranks;
    std::uint64_t end = 0;
    for (const NamedShape& each : group)
      if (tree_paths_.is_of_pieces)
        end = checked_add(end, round_up(numel(each.shape), ranks, "a parameter"), "a group");
      else
        end = checked_add(round_up(end, align, "a group"), numel(each.shape), "a group");
    const std::uint64_t step =
        tree_paths_.is_of_pieces ? ranks : checked_mul(slice_multiple, ranks, "a group's padding");
    return {end, round_up(end, step, "a group") / ranks};
  }

  /// The alignment that makes the gaps the file lists: with `parameter_alignment` each parameter begins at 16 bytes.
  std::uint64_t align_of(std::size_t g) const {
    const std::string path = std::string(root) + "/param_alignment_paddings";
    const std::vector<std::uint64_t> gaps = numbers(first_, path, std::to_string(g));
    const std::vector<NamedShape>& group = states_.groups[g];
    const auto makes_gaps = [&](std::uint64_t align) {
      std::uint64_t end = 0;
      for (std::size_t i = 0; i + 1 < gaps.size(); ++i) {
        const std::uint64_t next = checked_add(end, numel(group[i].shape), "a group");
        end = round_up(next, align, "a group");
        if (end - next != gaps[i]) return false;
      }
      return true;
    };
    if (gaps.empty()) return 1;
    for (std::uint64_t align = 1; align <= 16 && gaps.size() == group.size(); align *= 2)
      if (makes_gaps(align)) return align;
    throw Error(Kind::input, "/" + path + "/" + std::to_string(g),
                {"found other gaps between parameters than parameters that begin at multiples of 16 bytes have",
                 "those of \"parameter_alignment\"", "give a layout"});
  }

  /// A rank's number of elements of an array; nothing if it has none.
  std::optional<std::uint64_t> length(const Schema& schema, const std::string& name) const {
    const std::size_t at = schema.find(name);
    if (at == schema.arrays->size() || (*schema.arrays)[at].shape.size() != 1) return std::nullopt;
    return (*schema.arrays)[at].shape[0];
  }

  GroupState master(std::size_t g, const Size& size) const {
    const std::string stored = tree_paths_.master + std::to_string(g);
    if (!length(first_, stored))
      throw Error(
          Kind::input, "/" + stored,
          {"not found", "the master weights of group " + std::to_string(g) + " of param_shapes, end to end", not_zero});
    return {stored, master_word, true, is_short(stored, size, says_stage(first_))};
  }

  GroupState state(const StoredArray& array, const std::string& word, const Size& size) const {
    const auto found = length(first_, array.name);
    if (found && (*found == size.each || *found == std::min(size.each, size.end)))
      return {array.name, word, true, is_short(array.name, size, tree_paths_.is_lean)};
    if (numel(array.shape) > 1)
      throw Error(Kind::input, "/" + array.name,
                  {"found " + to_string(array.shape),
                   "one value, or [" + std::to_string(size.each) + "], one for each element of a rank's slice",
                   "give a layout that says how the optimizer cuts it"});
    return {array.name, word, false, false};
  }

  /// Decides by the last rank's length; without padding there, takes the usual form.
  bool is_short(const std::string& stored, const Size& size, bool is_usual) const {
    if (tree_paths_.is_of_pieces) return false;
    const std::uint64_t before = size.each * (optimizers_.size() - 1);
    const std::uint64_t left = size.end > before ? size.end - before : 0;
    if (left >= size.each) return is_usual;
    return length(*optimizers_.back(), stored).value_or(0) == left;
  }

  const ModelStates& states_;
  const std::vector<const Schema*>& optimizers_;
  const Schema& first_;
  TreePaths tree_paths_;
};

}  // namespace

std::vector<ZeroGroup> zero_groups(const ModelStates& states, const std::vector<const Schema*>& optimizers,
                                   bool of_pieces) {
  return ZeroGroups(states, optimizers, of_pieces).read();
}

}  // namespace ckpt::deepspeed
