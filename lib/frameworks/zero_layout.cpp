#include "frameworks/zero_layout.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "frameworks/zero_groups.hpp"
#include "layout/names/literal.hpp"

namespace ckpt::deepspeed {

namespace {

/// A file's path template and the prefix of the names in it.
struct PathPrefix {
  std::string path;
  std::string prefix;
};

std::vector<PathPrefix> paths_in(const TagFiles& files, const std::string& folder) {
  if (files.optimizer.empty()) return {{folder + files.model, ""}};
  return {{folder + files.model, model_prefix}, {folder + files.optimizer, optimizer_prefix}};
}

class ZeroLayout {
 public:
  ZeroLayout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas, const ModuleLayout* module)
      : files_(files),
        states_(states),
        schemas_(schemas),
        module_(module),
        model_prefix_(files.optimizer.empty() ? "" : model_prefix) {}

  Layout write() {
    if (!schemas_.optimizers.empty()) groups_ = zero_groups(states_, schemas_.optimizers, files_.model_of_each_rank);
    Layout layout;
    if (module_ != nullptr) {
      layout = on_all_ranks(*module_, states_.data_ranks);
    } else {
      layout.mesh = {{"dp"}, {states_.data_ranks}, {}};
      layout.default_rule = Default::replicate;
    }
    layout.files = zero_files(files_, files_.folder, layout.mesh);
    layout.parameters = rules(layout.parameters);
    layout.rename = renames();
    layout.buckets = buckets();
    return layout;
  }

 private:
  static constexpr Axis data_axis = 0;  // of both meshes

  /// The text that matches just this name. Names that no layout can hold are refused.
  std::string name_in_layout(const std::string& name) const {
    check_utf8(name);
    return literal(name);
  }

  void check_utf8(const std::string& name) const {
    if (is_utf8(name)) return;
    throw Error(Kind::input, files_.folder + files_.model,
                {"found names of parameters that are not UTF-8", "those of a layout, which are",
                 "was it written by DeepSpeed's save_checkpoint?"});
  }

  /// The master weights and the optimizer's state for each element lie end to end: with ZeRO-3 the ranks' pieces of
  /// each parameter, with ZeRO-1 and 2 whole parameters, which the ranks' slices may cut anywhere.
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> buckets;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states)
        if (state.is_flat) buckets.push_back(bucket(g, state));
    return buckets;
  }

  Bucket bucket(std::size_t g, const GroupState& state) const {
    const bool is_of_pieces = files_.model_of_each_rank;
    Bucket bucket;
    bucket.name = name_of(state, g);
    check_utf8(bucket.name);
    bucket.axis = data_axis;
    bucket.align = std::max<std::uint64_t>(1, groups_[g].align);
    if (!is_of_pieces) bucket.multiple_of_each = slice_multiple;
    bucket.last_is_short = state.is_short;
    const bool is_weight = is_of_pieces && state.word == master_word;
    for (const NamedShape& each : states_.groups[g]) {
      check_utf8(each.name);
      BucketMember& member = bucket.members.emplace_back();
      member.name = (is_weight ? "" : state.word + "/") + each.name;
      if (is_weight || module_ == nullptr)
        member.keys = keys_of(each);
      else
        member.like = each.name;
      if (is_of_pieces) member.keys.flat = Flat{data_axis};
    }
    return bucket;
  }

  /// The whole shape of a weight that the data ranks cut, and how the model ranks cut it.
  Keys keys_of(const NamedShape& weight) const {
    if (module_ != nullptr) return module_->keys_of_pieces.at(weight.name);
    Keys keys;
    keys.shape.emplace(weight.shape.begin(), weight.shape.end());
    return keys;
  }

  static std::string name_of(const GroupState& state, std::size_t g) { return state.word + "/" + std::to_string(g); }

  std::vector<Rule> rules(const std::vector<Rule>& given) const {
    std::vector<Rule> rules;
    if (!files_.model_of_each_rank) {
      const Pattern param("{param}");
      if (!groups_.empty()) rules.push_back({{Pattern("fp32/{param}")}, {}, {}, param});
      if (!states_.frozen.empty()) {
        rules.push_back({{Pattern(std::string(frozen_folder) + "{param}")}, {}, {}, param});
        if (module_ != nullptr) rules.back().like = param;
      }
      if (module_ == nullptr) return rules;
      rules.insert(rules.end(), given.begin(), given.end());
      add_states(rules);
      add_others(rules);
      return rules;
    }
    for (const NamedShape* each : frozen_pieces()) {
      Rule& rule = rules.emplace_back(Rule{{Pattern(name_in_layout(each->name))}, keys_of(*each), {}, {}});
      if (!rule.keys.flat) rule.keys.flat = Flat{data_axis};
    }
    // As with ZeRO-1 and 2, whose first rank alone saves them: a batch norm's buffers differ.
    for (const std::string& buffer : states_.buffers) {
      const Keys keys = module_ == nullptr ? Keys{} : module_->keys_of_pieces.at(buffer);
      rules.push_back({{Pattern(name_in_layout(buffer))}, keys, {}, {}});
      rules.back().keys.replicas = Replicas::first;
    }
    if (module_ != nullptr) add_others(rules);
    return rules;
  }

  /// With ZeRO-0, a state of a weight's shape is cut as the weight is.
  void add_states(std::vector<Rule>& rules) const {
    const std::vector<const StoredArray*> others = other_arrays(*schemas_.model);
    for (const StateOfWeight& state : module_->states) {
      auto at = std::lower_bound(others.begin(), others.end(), state.path,
                                 [](const StoredArray* array, const std::string& path) { return array->name < path; });
      for (; at != others.end() && (*at)->name.starts_with(state.path); ++at) {
        if (state.is_master && (*at)->name != state.path) break;
        if (!is_cut_as(**at, state)) continue;
        const Pattern weight(name_in_layout(state.weight));
        rules.push_back({{Pattern(name_in_layout((*at)->name))}, {}, weight, {}});
        if (state.is_master) rules.back().equals = weight;
      }
    }
  }

  bool is_cut_as(const StoredArray& array, const StateOfWeight& state) const {
    const Schema& model = *schemas_.model;
    const std::size_t weight = model.find(weights_folder + state.weight);
    if (weight < model.arrays->size() && (*model.arrays)[weight].shape == array.shape) return true;
    if (numel(array.shape) <= 1) return false;
    throw Error(
        Kind::input, "/" + array.name,
        {"found " + to_string(array.shape), "one value, or the shape of " + state.weight + ", for which it is kept",
         "give a whole layout, with \"files\", that says how the optimizer cuts it"});
  }

  /// Adds a rule for tensors that are neither weights nor their moments.
  void add_others(std::vector<Rule>& rules) const {
    if (auto others = other_names(); !others.empty()) rules.push_back({std::move(others), {}, {}, {}});
  }

  /// The names of tensors that are alike on all model ranks.
  std::vector<Pattern> other_names() const {
    std::vector<Pattern> names;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states)
        if (!state.is_flat) names.emplace_back(name_in_layout(name_of(state, g)));
    for (const StoredArray* array : other_arrays(*schemas_.model))
      names.emplace_back(name_in_layout(model_prefix_ + array->name));
    for (const StoredArray* array : other_optimizer_arrays())
      names.emplace_back(name_in_layout(optimizer_prefix + array->name));
    return names;
  }

  static std::vector<const StoredArray*> other_arrays(const Schema& model) {
    std::vector<const StoredArray*> others;
    for (const StoredArray& array : *model.arrays)
      if (!array.name.starts_with(weights_folder) && !array.name.starts_with(frozen_folder)) others.push_back(&array);
    return others;
  }

  /// The optimizer's arrays that belong to no group.
  std::vector<const StoredArray*> other_optimizer_arrays() const {
    std::set<std::string> known;
    for (const ZeroGroup& group : groups_)
      for (const GroupState& state : group.states) known.insert(state.stored);
    std::vector<const StoredArray*> others;
    if (!schemas_.optimizers.empty())
      for (const StoredArray& array : *schemas_.optimizers.front()->arrays)
        if (!known.contains(array.name)) others.push_back(&array);
    return others;
  }

  /// Frozen weights that ZeRO-3 cut.
  std::vector<const NamedShape*> frozen_pieces() const {
    std::vector<const NamedShape*> pieces;
    if (files_.model_of_each_rank)
      for (const NamedShape& each : states_.frozen)
        if (numel(each.shape) > 0) pieces.push_back(&each);
    return pieces;
  }

  /// The last rename fits any name, so tensors that keep their stored names come before it.
  std::vector<Rename> renames() const {
    std::vector<Rename> renames;
    const auto add = [&](const std::string& stored, const std::string& name) {
      renames.push_back({Pattern(name_in_layout(stored)), Pattern(name_in_layout(name))});
    };
    const auto keep = [&](const std::string& name) { add(name, name); };
    for (const NamedShape* each : frozen_pieces()) add(model_prefix_ + frozen_folder + each->name, each->name);
    renames.push_back(
        {Pattern(model_prefix_ + frozen_folder + "{param}"), Pattern(std::string(frozen_folder) + "{param}")});
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states) add(optimizer_prefix + state.stored, name_of(state, g));
    for (const StoredArray* array : other_arrays(*schemas_.model)) keep(model_prefix_ + array->name);
    for (const StoredArray* array : other_optimizer_arrays()) keep(optimizer_prefix + array->name);
    renames.push_back({Pattern(model_prefix_ + weights_folder + "{param}"), Pattern("{param}")});
    return renames;
  }

  const TagFiles& files_;
  const ModelStates& states_;
  const TagSchemas& schemas_;
  const ModuleLayout* module_;
  std::string model_prefix_;  // empty if there is only one file
  std::vector<ZeroGroup> groups_;
};

}  // namespace

Layout zero_layout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas,
                   const ModuleLayout* module) {
  return ZeroLayout(files, states, schemas, module).write();
}

CardFiles zero_files(const TagFiles& files, const std::string& folder, const Mesh& mesh) {
  std::vector<FileEntry> entries;
  for (PathPrefix& each : paths_in(files, folder))
    entries.push_back({FileTemplate(std::move(each.path), mesh), std::move(each.prefix)});
  return CardFiles(std::move(entries));
}

}  // namespace ckpt::deepspeed
