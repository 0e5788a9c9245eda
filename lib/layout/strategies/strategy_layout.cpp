#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/names/literal.hpp"
#include "layout/strategies/refinement.hpp"
#include "layout/strategies/strategy.hpp"

namespace ckpt {

namespace {

using strategy::Refinement;
using strategy::Span;
using strategy::Spans;

/// The state that MindSpore's optimizers keep for each parameter, and the gradients that a pipeline accumulates.
constexpr std::array states{"moments", "adam_m", "adam_v", "moment1", "moment2", "accu_grads"};

/// The template of MindSpore's file names: below rank_N, whatever the job's name.
constexpr const char* files_of_ranks = "rank_{card}/*.ckpt";

/// Limit on explicit boxes, for what no mesh expresses.
constexpr std::uint64_t most_boxes = 1U << 17;

/// A parameter with the stages that it lives in.
struct StagedParameter {
  const ParameterStrategy* strategy = nullptr;
  std::vector<std::uint64_t> stages;
};

/// Parameters that are cut alike.
struct CutGroup {
  std::vector<std::string> names;
  bool is_uneven = false;
};

std::uint64_t devices_of(const ParameterStrategy& parameter) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : parameter.devices) count *= size;
  return count;
}

/// Returns the distinct stages, ascending. Each rank writes its own file, so that one stage may occur many times.
std::map<std::uint64_t, const StageStrategy*> different_stages(const std::vector<StageStrategy>& stages) {
  std::map<std::uint64_t, const StageStrategy*> different;
  for (const StageStrategy& stage : stages) {
    const auto [known, is_new] = different.emplace(stage.stage, &stage);
    if (is_new || known->second->parameters == stage.parameters) continue;
    throw Error(Kind::layout, stage.origin,
                {"stage " + std::to_string(stage.stage) + " is cut otherwise than in " + known->second->origin,
                 "strategies of one job", "remove what an earlier job left"});
  }
  std::uint64_t next = 0;
  for (const auto& [number, stage] : different)
    if (different.size() > 1 && number != next++)
      throw Error(
          Kind::layout, stage->origin,
          {"it is of stage " + std::to_string(number) + ", and stage " + std::to_string(next - 1) + " is missing",
           "a file of each stage", "give the directory that holds them all"});
  return different;
}

class StrategyLayout {
 public:
  StrategyLayout(const std::vector<StageStrategy>& stages, const std::string& origin)
      : stages_(different_stages(stages)), origin_(origin) {
    layout_.origin = origin;
    layout_.default_rule = Default::replicate;
  }

  Layout make() {
    collect();
    find_devices();
    make_mesh();
    check_boxed();
    add_differing_states();
    add_state_rule();
    add_rules();
    layout_.files = CardFiles({FileEntry{FileTemplate(files_of_ranks, layout_.mesh), ""}});
    layout_.origin = origin_;
    return checked(layout_);
  }

 private:
  void collect() {
    for (const auto& [number, stage] : stages_)
      for (const auto& [name, parameter] : stage->parameters) {
        StagedParameter& placed = parameters_[name];
        if (placed.strategy != nullptr && !(*placed.strategy == parameter))
          throw Error(
              Kind::layout, stage->origin,
              {"parameter '" + name + "' is cut otherwise than in stage " + std::to_string(placed.stages.front()),
               "one layout in all stages that share it",
               "leave it out of one stage's strategy: MindSpore since 2.0 saves it in one"});
        placed.strategy = &parameter;
        placed.stages.push_back(number);
      }
  }

  /// The number of a stage's devices is the product of any parameter's axes.
  void find_devices() {
    std::string first;
    for (const auto& [name, placed] : parameters_) {
      const std::uint64_t devices = devices_of(*placed.strategy);
      if (first.empty()) devices_ = devices;
      if (devices != devices_)
        throw Error(Kind::layout, origin_,
                    {"dev_matrix of '" + name + "' has " + std::to_string(devices) + " devices, that of '" + first +
                         "' " + std::to_string(devices_),
                     "as many for all parameters", "are the files of one job?"});
      if (first.empty()) first = name;
    }
  }

  /// Returns the devices' axes as spans that fit as many parameters as possible; puts the names of the others in
  /// `boxed_`.
  Refinement common_refinement() {
    std::map<Spans, CutGroup> ways;
    for (const auto& [name, placed] : parameters_)
      if (const auto spans = strategy::spans_of(*placed.strategy)) {
        CutGroup& way = ways[*spans];
        way.names.push_back(name);
        way.is_uneven |= !placed.strategy->sizes.empty();
      } else {
        boxed_.insert(name);
      }
    std::vector<const std::pair<const Spans, CutGroup>*> ordered;
    for (const auto& way : ways) ordered.push_back(&way);
    // Uneven pieces are more readable as sizes on a mesh than as boxes; otherwise the most common way comes first.
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
      return std::pair(a->second.is_uneven, a->second.names.size()) >
             std::pair(b->second.is_uneven, b->second.names.size());
    });
    Refinement refinement(devices_);
    for (const auto* way : ordered)
      if (!refinement.take(way->first)) boxed_.insert(way->second.names.begin(), way->second.names.end());
    return refinement;
  }

  void make_mesh() {
    const Refinement refinement = common_refinement();
    Mesh& mesh = layout_.mesh;
    if (stages_.size() > 1) {
      mesh.axes.emplace_back("pp");
      mesh.shape.push_back(stages_.size());
    }
    inner_ = mesh.axes.size();
    if (devices_ > 1) axes_ = refinement.axes();
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      mesh.axes.push_back(i < 26 ? std::string(1, static_cast<char>('a' + i)) : "x" + std::to_string(i));
      mesh.shape.push_back(axes_[i].hi / axes_[i].lo);
    }
    if (mesh.axes.empty()) mesh = {{"card"}, {1}, {}};
    const std::uint64_t first_card = stages_.size() == 1 ? stages_.begin()->first * devices_ : 0;
    for (std::uint64_t i = 0; first_card > 0 && i < devices_; ++i) mesh.cards.push_back(first_card + i);
  }

  /// Parameters that are cut alike share one rule, and their boxes are written once.
  void check_boxed() const {
    std::set<std::tuple<std::vector<std::uint64_t>, std::vector<std::vector<std::size_t>>, std::uint64_t,
                        std::vector<std::uint64_t>, std::optional<std::vector<std::uint64_t>>>>
        ways;
    for (const std::string& name : boxed_) {
      const ParameterStrategy& parameter = *parameters_.at(name).strategy;
      ways.emplace(parameter.devices, parameter.split, parameter.optimizer_shards, parameter.sizes,
                   shape_of(parameter));
    }
    if (ways.size() * devices_ <= most_boxes) return;
    throw Error(Kind::layout, origin_,
                {std::to_string(ways.size()) + " ways to cut parameters over " + std::to_string(devices_) +
                     " devices have no mesh in common",
                 "at most " + std::to_string(most_boxes) + " boxes", "write a layout for each dev_matrix"});
  }

  std::vector<Axis> axes_within(const Span& span) const {
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].lo >= span.lo && axes_[i].lo < span.hi) axes.push_back(inner_ + i);
    return axes;
  }

  std::optional<At> at_of(const StagedParameter& placed) const {
    if (placed.stages.size() == stages_.size()) return std::nullopt;
    return At{{0, placed.stages}};
  }

  Keys keys_of(const std::string& name, const StagedParameter& placed) const {
    const ParameterStrategy& parameter = *placed.strategy;
    Keys keys;
    keys.shape = shape_of(parameter);
    if (boxed_.contains(name)) {
      keys.grid = strategy::pieces_of(parameter);
      keys.boxes = boxes_of(name, placed, *keys.grid);
      if (!parameter.sizes.empty()) keys.grid->front() = 0;  // uneven pieces fit only one extent
      return keys;
    }
    keys.at = at_of(placed);
    if (parameter.fields > 0) {
      keys.split = {axes_within({1, devices_})};
      keys.parts = Parts{0, {}, parameter.fields};
      return keys;
    }
    const Spans spans = strategy::spans_of(parameter).value_or(Spans{});
    std::vector<std::vector<Axis>> split;
    for (const auto& of_dim : spans) {
      auto& axes = split.emplace_back();
      for (const Span& span : of_dim)
        for (const Axis axis : axes_within(span)) axes.push_back(axis);
    }
    while (!split.empty() && split.back().empty()) split.pop_back();
    if (!split.empty()) keys.split = split;
    if (!parameter.sizes.empty()) keys.sizes = {{0, parameter.sizes}};
    return keys;
  }

  static std::optional<std::vector<std::uint64_t>> shape_of(const ParameterStrategy& parameter) {
    if (!parameter.shape) return std::nullopt;
    return std::vector<std::uint64_t>(parameter.shape->begin(), parameter.shape->end());
  }

  Boxes boxes_of(const std::string& name, const StagedParameter& placed, const std::vector<std::uint64_t>& grid) const {
    const std::string object = origin_ + ": parameter '" + name + "'";
    if (!placed.strategy->sizes.empty() && placed.strategy->optimizer_shards > 1)
      throw Error(Kind::layout, object,
                  {"its uneven pieces are cut again over replicas", "opt_weight_shard_size beside even ones alone",
                   "write a layout that says in \"boxes\" what each card holds of it"});
    Boxes boxes;
    const auto of_stage = strategy::boxes_of(*placed.strategy, grid);
    for (const std::uint64_t stage : placed.stages)
      for (std::uint64_t device = 0; device < devices_; ++device)
        boxes.emplace(stage * devices_ + device, of_stage[device]);
    return boxes;
  }

  /// Returns the parameter that optimizer state belongs to, if the strategy has both.
  const std::string* weight_of(const std::string& name) const {
    for (const std::string state : states) {
      if (!name.starts_with(state + ".")) continue;
      const auto found = parameters_.find(name.substr(state.size() + 1));
      if (found != parameters_.end()) return &found->first;
    }
    return nullptr;
  }

  bool is_like_weight(const std::string& name, const StagedParameter& placed) const {
    const std::string* const weight = weight_of(name);
    if (weight == nullptr) return false;
    const StagedParameter& other = parameters_.at(*weight);
    return other.stages == placed.stages && *other.strategy == *placed.strategy;
  }

  /// State that is cut differently from its parameter has a rule of its own, before the one for all state.
  void add_differing_states() {
    for (const auto& [name, placed] : parameters_)
      if (weight_of(name) != nullptr && !is_like_weight(name, placed)) add_rule({name}, keys_of(name, placed));
  }

  /// The strategy of a job that trained has all of its optimizer's state; that of any other job has none.
  void add_state_rule() {
    const bool has_state = std::any_of(parameters_.begin(), parameters_.end(),
                                       [&](const auto& entry) { return is_like_weight(entry.first, entry.second); });
    if (!has_state) return;
    Rule rule;
    for (const char* const state : states) rule.names.emplace_back(std::string(state) + ".{param}");
    rule.like = Pattern("{param}");
    layout_.parameters.push_back(std::move(rule));
  }

  /// Parameters that are cut alike share one rule.
  void add_rules() {
    std::map<std::string, std::size_t> known;  // by the keys' text
    std::vector<std::pair<std::vector<std::string>, Keys>> rules;
    for (const auto& [name, placed] : parameters_) {
      if (weight_of(name) != nullptr) continue;
      Keys keys = keys_of(name, placed);
      const auto [found, is_new] = known.emplace(text_of(keys), rules.size());
      if (is_new) rules.emplace_back(std::vector<std::string>{}, std::move(keys));
      rules[found->second].first.push_back(name);
    }
    for (auto& [names, keys] : rules) add_rule(names, std::move(keys));
  }

  void add_rule(const std::vector<std::string>& names, Keys keys) {
    Rule rule;
    for (const std::string& name : names) rule.names.emplace_back(literal(name));
    rule.keys = std::move(keys);
    layout_.parameters.push_back(std::move(rule));
  }

  std::string text_of(const Keys& keys) const {
    Layout alone;
    alone.mesh = layout_.mesh;
    Rule rule;
    rule.names.emplace_back("x");
    rule.keys = keys;
    alone.parameters = {rule};
    return to_json(alone);
  }

  std::map<std::uint64_t, const StageStrategy*> stages_;
  const std::string& origin_;
  std::map<std::string, StagedParameter> parameters_;
  std::uint64_t devices_ = 1;  // number of a stage's devices
  std::set<std::string> boxed_;
  std::vector<Span> axes_;  // axes of a stage, major first
  std::size_t inner_ = 0;   // index in the mesh of the first of them
  Layout layout_;
};

}  // namespace

Layout strategy_layout(const std::vector<StageStrategy>& stages, const std::string& origin) {
  return StrategyLayout(stages, origin).make();
}

}  // namespace ckpt
