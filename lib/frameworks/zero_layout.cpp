#include "frameworks/zero_layout.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "frameworks/zero_groups.hpp"
#include "layout/names/literal.hpp"

namespace ckpt::deepspeed {

namespace {

using Json = nlohmann::ordered_json;

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

  Json write() {
    if (!schemas_.optimizers.empty()) groups_ = zero_groups(states_, schemas_.optimizers, files_.model_of_each_rank);
    Json layout;
    layout["ckpt_layout"] = 1;
    layout["mesh"] = {{"axes", {"dp"}}, {"shape", {states_.data_ranks}}};
    if (module_ != nullptr) {
      layout["mesh"]["axes"].push_back(module_->axis);
      layout["mesh"]["shape"].push_back(module_->ranks);
    }
    for (const PathPrefix& each : paths_in(files_, files_.folder))
      if (each.prefix.empty())
        layout["files"] = each.path;
      else
        layout["files"].push_back({{"path", each.path}, {"prefix", each.prefix}});
    const Json given = module_ == nullptr ? Json() : Json::parse(module_->rules);
    if (Json all = rules(given); !all.empty()) layout["parameters"] = std::move(all);
    layout["default"] = module_ == nullptr ? Json("replicate") : given["default"];
    layout["rename"] = renames();
    if (!groups_.empty()) layout["buckets"] = buckets();
    return layout;
  }

 private:
  /// The master weights and the optimizer's state for each element lie end to end: with ZeRO-3 the ranks' pieces of
  /// each parameter, with ZeRO-1 and 2 whole parameters, which the ranks' slices may cut anywhere.
  Json buckets() const {
    Json buckets = Json::array();
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states)
        if (state.is_flat) buckets.push_back(bucket(g, state));
    return buckets;
  }

  Json bucket(std::size_t g, const GroupState& state) const {
    const bool is_of_pieces = files_.model_of_each_rank;
    Json bucket = {{"name", name_of(state, g)}, {"axis", "dp"}};
    if (groups_[g].align > 1) bucket["align"] = groups_[g].align;
    if (!is_of_pieces) bucket["multiple_of_each"] = slice_multiple;
    if (state.is_short) bucket["last"] = "short";
    const bool is_weight = is_of_pieces && state.word == master_word;
    Json members = Json::array();
    for (const NamedShape& each : states_.groups[g]) {
      Json member = {{"name", (is_weight ? "" : state.word + "/") + each.name}};
      if (is_weight || module_ == nullptr)
        member.update(keys_of(each));
      else
        member["like"] = each.name;
      if (is_of_pieces) member["flat"] = {{"axis", "dp"}};
      members.push_back(std::move(member));
    }
    bucket["members"] = std::move(members);
    return bucket;
  }

  /// The whole shape of a weight that the data ranks cut, and how the model ranks cut it.
  Json keys_of(const NamedShape& weight) const {
    return module_ == nullptr ? Json{{"shape", weight.shape}} : Json::parse(module_->keys_of_pieces.at(weight.name));
  }

  static std::string name_of(const GroupState& state, std::size_t g) { return state.word + "/" + std::to_string(g); }

  Json rules(const Json& given) const {
    Json rules = Json::array();
    if (!files_.model_of_each_rank) {
      if (!groups_.empty()) rules.push_back({{"name", "fp32/{param}"}, {"equals", "{param}"}});
      if (!states_.frozen.empty()) {
        Json copy = {{"name", std::string(frozen_folder) + "{param}"}, {"equals", "{param}"}};
        if (module_ != nullptr) copy["like"] = "{param}";
        rules.push_back(std::move(copy));
      }
      if (module_ == nullptr) return rules;
      for (const Json& each : given["parameters"]) rules.push_back(each);
      add_states(rules);
      add_others(rules);
      return rules;
    }
    for (const NamedShape* each : frozen_pieces()) {
      Json rule = {{"name", literal(each->name)}, {"flat", {{"axis", "dp"}}}};
      rule.update(keys_of(*each));
      rules.push_back(std::move(rule));
    }
    // As with ZeRO-1 and 2, whose first rank alone saves them: a batch norm's buffers differ.
    for (const std::string& buffer : states_.buffers) {
      Json rule = module_ == nullptr ? Json::object() : Json::parse(module_->keys_of_pieces.at(buffer));
      rule.update({{"name", literal(buffer)}, {"replicas", "first"}});
      rules.push_back(std::move(rule));
    }
    if (module_ != nullptr) add_others(rules);
    return rules;
  }

  /// With ZeRO-0, a state of a weight's shape is cut as the weight is.
  void add_states(Json& rules) const {
    const std::vector<const StoredArray*> others = other_arrays(*schemas_.model);
    for (const StateOfWeight& state : module_->states) {
      auto at = std::lower_bound(others.begin(), others.end(), state.path,
                                 [](const StoredArray* array, const std::string& path) { return array->name < path; });
      for (; at != others.end() && (*at)->name.starts_with(state.path); ++at) {
        if (state.is_master && (*at)->name != state.path) break;
        if (!is_cut_as(**at, state)) continue;
        Json rule = {{"name", literal((*at)->name)}, {"like", literal(state.weight)}};
        if (state.is_master) rule["equals"] = literal(state.weight);
        rules.push_back(std::move(rule));
      }
    }
  }

  bool is_cut_as(const StoredArray& array, const StateOfWeight& state) const {
    const Schema& model = *schemas_.model;
    const std::size_t weight = model.find(weights_folder + state.weight);
    if (weight < model.arrays->size() && (*model.arrays)[weight].shape == array.shape) return true;
    if (volume(array.shape) <= 1) return false;
    throw Error(
        Kind::input, "/" + array.name,
        {"found " + to_string(array.shape), "one value, or the shape of " + state.weight + ", for which it is kept",
         "give a whole layout, with \"files\", that says how the optimizer cuts it"});
  }

  /// Adds a rule for tensors that are neither weights nor their moments.
  void add_others(Json& rules) const {
    if (const Json others = other_names(); !others.empty()) rules.push_back({{"name", others}});
  }

  /// The names of tensors that are alike on all model ranks.
  Json other_names() const {
    Json names = Json::array();
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states)
        if (!state.is_flat) names.push_back(literal(name_of(state, g)));
    for (const StoredArray* array : other_arrays(*schemas_.model))
      names.push_back(literal(model_prefix_ + array->name));
    for (const StoredArray* array : other_optimizer_arrays()) names.push_back(literal(optimizer_prefix + array->name));
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
        if (volume(each.shape) > 0) pieces.push_back(&each);
    return pieces;
  }

  /// The last rename fits any name, so tensors that keep their stored names come before it.
  Json renames() const {
    Json renames = Json::array();
    for (const NamedShape* each : frozen_pieces())
      renames.push_back(
          {{"stored", literal(model_prefix_ + frozen_folder + each->name)}, {"name", literal(each->name)}});
    renames.push_back(
        {{"stored", model_prefix_ + frozen_folder + "{param}"}, {"name", std::string(frozen_folder) + "{param}"}});
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states)
        renames.push_back({{"stored", literal(optimizer_prefix + state.stored)}, {"name", literal(name_of(state, g))}});
    const auto keep = [&](const std::string& name) {
      renames.push_back({{"stored", literal(name)}, {"name", literal(name)}});
    };
    for (const StoredArray* array : other_arrays(*schemas_.model)) keep(model_prefix_ + array->name);
    for (const StoredArray* array : other_optimizer_arrays()) keep(optimizer_prefix + array->name);
    renames.push_back({{"stored", model_prefix_ + weights_folder + "{param}"}, {"name", "{param}"}});
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

std::string zero_layout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas,
                        const ModuleLayout* module) {
  const Json layout = ZeroLayout(files, states, schemas, module).write();
  try {
    return layout.dump(2) + "\n";
  } catch (const Json::type_error&) {
    throw Error(Kind::input, files.folder + files.model,
                {"found names of parameters that are not UTF-8", "those of a layout, which are",
                 "was it written by DeepSpeed's save_checkpoint?"});
  }
}

CardFiles zero_files(const TagFiles& files, const std::string& folder, const Mesh& mesh) {
  std::vector<FileEntry> entries;
  for (PathPrefix& each : paths_in(files, folder))
    entries.push_back({FileTemplate(std::move(each.path), mesh), std::move(each.prefix)});
  return CardFiles(std::move(entries));
}

}  // namespace ckpt::deepspeed
