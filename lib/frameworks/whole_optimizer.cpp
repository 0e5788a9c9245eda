#include "frameworks/whole_optimizer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "store/torch/branches.hpp"

namespace ckpt::deepspeed {

namespace {

using torch::no_node;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;

struct Weight {
  std::string name;
  Shape shape;
};

/// A group's parameters and the shapes of their states.
struct ParamGroup {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;  ///< if the optimizer was given them
  std::vector<std::optional<Shape>> shapes;
};

[[noreturn]] void refuse(const std::string& found, const std::string& expected) {
  throw Error(
      Kind::input, "optimizer",
      {"found " + found, expected + ", as its state has numbers for names",
       "give a whole layout, with \"files\", that has a \"split\" for each `optimizer/…` (ckpt inspect lists them)"});
}

class WholeOptimizer {
 public:
  WholeOptimizer(const Pickle& tree, const torch::Storages& storages) : tree_(tree), storages_(storages) {
    root_ = tree.value_of(tree.root(), "optimizer");
    if (root_ == no_node || !is_dict(root_)) return;
    inner_ = tree.value_of(root_, "optimizer_state_dict");
    if (inner_ != no_node) path_ += "optimizer_state_dict/";
    if (inner_ == no_node) inner_ = root_;
    if (tree.value_of(root_, "fp32_groups_flat") != no_node)
      refuse("master weights end to end (fp32_groups_flat)", "each by itself");
    read_weights();
    read_groups();
  }

  std::vector<StateOfWeight> read() {
    std::vector<StateOfWeight> states;
    if (groups_.empty()) return states;
    const auto names = weights_of_groups();
    const bool has_masters = masters() != no_node;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; i < names[g].size(); ++i) {
        states.push_back({path_ + "state/" + std::to_string(groups_[g].numbers[i]) + "/", names[g][i]});
        if (has_masters)
          states.push_back({"optimizer/fp32_groups/" + std::to_string(g) + "/" + std::to_string(i), names[g][i], true});
      }
    return states;
  }

 private:
  bool is_dict(PickleId id) const { return tree_[id].kind == PickleKind::dict || tree_[id].has_pairs; }

  std::vector<torch::Branch> branches(PickleId id) const {
    return id != no_node && torch::is_container(tree_, id) ? torch::branches_of(tree_, id)
                                                           : std::vector<torch::Branch>();
  }

  PickleId masters() const { return tree_.value_of(root_, "fp32_groups"); }

  /// Reads the weights in the module's order, without second names of tied ones.
  void read_weights() {
    std::set<std::string_view> others;
    for (const torch::Branch& buffer : branches(tree_.value_of(tree_.root(), "buffer_names")))
      others.insert(tree_[buffer.value].text);
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (const torch::Branch& each : branches(tree_.value_of(tree_.root(), "module"))) {
      const auto view = torch::tensor_in(tree_, each.value, storages_);
      if (!view || others.contains(each.key)) continue;
      if (!view->place.empty() && !seen.emplace(view->place.lo, view->place.hi).second) continue;
      weights_.push_back({each.key, view->shape});
    }
  }

  void read_groups() {
    const auto masters_of = branches(masters());
    const auto of_states = shapes_of_states();
    for (const torch::Branch& each : branches(tree_.value_of(inner_, "param_groups"))) {
      ParamGroup group;
      const PickleId numbers = tree_.value_of(each.value, "params");
      if (numbers == no_node) continue;
      for (const PickleId number : tree_[numbers].items) group.numbers.push_back(tree_[number].number);
      for (const torch::Branch& name : branches(tree_.value_of(each.value, "param_names")))
        group.names.emplace_back(tree_[name.value].text);
      const auto own = groups_.size() < masters_of.size() ? branches(masters_of[groups_.size()].value)
                                                          : std::vector<torch::Branch>();
      for (std::size_t i = 0; i < group.numbers.size(); ++i) {
        const auto state = of_states.find(group.numbers[i]);
        group.shapes.push_back(i < own.size()             ? shape_of(own[i].value)
                               : state == of_states.end() ? std::nullopt
                                                          : std::optional(state->second));
      }
      groups_.push_back(std::move(group));
    }
  }

  std::optional<Shape> shape_of(PickleId id) const {
    const auto view = torch::tensor_in(tree_, id, storages_);
    return view ? std::optional(view->shape) : std::nullopt;
  }

  /// The parameters' shapes by number, from their largest state: no state is larger than its parameter.
  std::map<std::int64_t, Shape> shapes_of_states() const {
    std::map<std::int64_t, Shape> largest;
    for (const torch::Branch& kept : branches(tree_.value_of(inner_, "state"))) {
      if (kept.key_node == no_node) continue;  // of a list
      for (const torch::Branch& each : branches(kept.value))
        if (auto shape = shape_of(each.value)) {
          const auto [known, is_new] = largest.try_emplace(tree_[kept.key_node].number, *shape);
          const bool is_larger = numel(*shape) > numel(known->second) || shape->size() > known->second.size();
          if (!is_new && is_larger) known->second = *shape;
        }
    }
    return largest;
  }

  std::vector<std::vector<std::string>> weights_of_groups() const {
    std::vector<std::vector<std::string>> names;
    for (const ParamGroup& group : groups_) names.push_back(group.names);
    const bool are_named = std::all_of(groups_.begin(), groups_.end(), [](const ParamGroup& group) {
      return group.names.size() == group.numbers.size();
    });
    if (are_named) return names;
    std::vector<std::vector<std::string>> from_behind = laid(true);
    for (auto& group : from_behind) std::reverse(group.begin(), group.end());
    names = laid(false);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; i < names[g].size(); ++i)
        if (names[g][i] != from_behind[g][i])
          refuse("parameter " + std::to_string(groups_[g].numbers[i]) + ", which could be " + names[g][i] + " or " +
                     from_behind[g][i],
                 "no frozen weights beside others of their shape, or \"param_names\" in its groups");
    return names;
  }

  /// Deals the weights out to the groups, from the first or from the last one on. A weight that fits nowhere is frozen.
  std::vector<std::vector<std::string>> laid(bool from_behind) const {
    std::vector<std::vector<std::string>> names(groups_.size());
    std::vector<Weight> weights = weights_;
    if (from_behind) std::reverse(weights.begin(), weights.end());
    for (const Weight& weight : weights)
      if (const auto group = group_of(weight, names, from_behind)) names[*group].push_back(weight.name);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (names[g].size() < groups_[g].numbers.size())
        refuse("group " + std::to_string(g) + " with " + std::to_string(groups_[g].numbers.size()) + " parameters",
               std::to_string(names[g].size()) + ", the weights that fit by their shapes in the order of the module");
    return names;
  }

  /// The group whose next parameter has this weight's shape, if there is one.
  std::optional<std::size_t> group_of(const Weight& weight, const std::vector<std::vector<std::string>>& names,
                                      bool from_behind) const {
    std::optional<std::size_t> found;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto& shapes = groups_[g].shapes;
      if (names[g].size() == shapes.size()) continue;
      const auto& next = from_behind ? shapes[shapes.size() - 1 - names[g].size()] : shapes[names[g].size()];
      if (next && !(*next == weight.shape)) continue;
      if (found)
        refuse("groups " + std::to_string(*found) + " and " + std::to_string(g) + ", either of which could have " +
                   weight.name + " " + to_string(weight.shape) + " next",
               "groups that shapes tell apart, each in the order of the module, or \"param_names\" in them");
      found = g;
    }
    return found;
  }

  const Pickle& tree_;
  const torch::Storages& storages_;
  PickleId root_ = no_node;
  PickleId inner_ = no_node;  // of torch's own optimizer
  std::string path_ = "optimizer/";
  std::vector<Weight> weights_;
  std::vector<ParamGroup> groups_;
};

}  // namespace

std::vector<StateOfWeight> states_of_weights(const Pickle& tree, const torch::Storages& storages) {
  return WholeOptimizer(tree, storages).read();
}

}  // namespace ckpt::deepspeed
