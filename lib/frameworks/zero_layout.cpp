#include "frameworks/zero_layout.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "frameworks/zero_groups.hpp"
#include "layout/literal.hpp"

namespace ckpt::deepspeed {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* weights_folder = "module/";
constexpr const char* frozen_folder = "frozen_param_fragments/";

/// A file's place in a folder, and what stands before the names in it.
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
  ZeroLayout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas)
      : files_(files), states_(states), schemas_(schemas), model_prefix_(files.optimizer.empty() ? "" : model_prefix) {}

  Json write() {
    if (!schemas_.optimizers.empty()) groups_ = zero_groups(states_, schemas_.optimizers);
    Json layout;
    layout["ckpt_layout"] = 1;
    layout["mesh"] = {{"axes", {"dp"}}, {"shape", {states_.data_ranks}}};
    for (const PathPrefix& each : paths_in(files_, files_.folder))
      if (each.prefix.empty())
        layout["files"] = each.path;
      else
        layout["files"].push_back({{"path", each.path}, {"prefix", each.prefix}});
    if (Json all = rules(); !all.empty()) layout["parameters"] = std::move(all);
    layout["default"] = "replicate";
    layout["rename"] = renames();
    if (!groups_.empty()) layout["buckets"] = buckets();
    return layout;
  }

 private:
  /// The master weights and what the optimizer keeps for each element lie end to end: of ZeRO-3 the ranks' pieces of
  /// each parameter, of ZeRO-1 and 2 whole parameters, which the ranks' slices cut anywhere.
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
      Json member = {{"name", (is_weight ? "" : state.word + "/") + each.name}, {"shape", each.shape}};
      if (is_of_pieces) member["flat"] = {{"axis", "dp"}};
      members.push_back(std::move(member));
    }
    bucket["members"] = std::move(members);
    return bucket;
  }

  static std::string name_of(const GroupState& state, std::size_t g) { return state.word + "/" + std::to_string(g); }

  Json rules() const {
    Json rules = Json::array();
    if (!files_.model_of_each_rank) {
      if (!groups_.empty()) rules.push_back({{"name", "fp32/{param}"}, {"equals", "{param}"}});
      if (!states_.frozen.empty())
        rules.push_back({{"name", std::string(frozen_folder) + "{param}"}, {"equals", "{param}"}});
      return rules;
    }
    for (const NamedShape* each : frozen_pieces())
      rules.push_back({{"name", literal(each->name)}, {"flat", {{"axis", "dp"}}}, {"shape", each->shape}});
    // As of ZeRO-1 and 2, whose first rank alone saves them: a batch norm's differ.
    for (const std::string& buffer : states_.buffers)
      rules.push_back({{"name", literal(buffer)}, {"replicas", "first"}});
    return rules;
  }

  /// Frozen weights that ZeRO-3 has cut.
  std::vector<const NamedShape*> frozen_pieces() const {
    std::vector<const NamedShape*> pieces;
    if (files_.model_of_each_rank)
      for (const NamedShape& each : states_.frozen)
        if (volume(each.shape) > 0) pieces.push_back(&each);
    return pieces;
  }

  /// The last one fits any name: what is called as it is stored comes before it.
  Json renames() const {
    Json renames = Json::array();
    for (const NamedShape* each : frozen_pieces())
      renames.push_back(
          {{"stored", literal(model_prefix_ + frozen_folder + each->name)}, {"name", literal(each->name)}});
    renames.push_back(
        {{"stored", model_prefix_ + frozen_folder + "{param}"}, {"name", std::string(frozen_folder) + "{param}"}});
    std::set<std::string> known;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const GroupState& state : groups_[g].states) {
        renames.push_back({{"stored", literal(optimizer_prefix + state.stored)}, {"name", literal(name_of(state, g))}});
        known.insert(state.stored);
      }
    for (const StoredArray& array : *schemas_.model->arrays)
      if (!array.name.starts_with(weights_folder) && !array.name.starts_with(frozen_folder))
        renames.push_back(
            {{"stored", literal(model_prefix_ + array.name)}, {"name", literal(model_prefix_ + array.name)}});
    if (!schemas_.optimizers.empty())
      for (const StoredArray& array : *schemas_.optimizers.front()->arrays)
        if (!known.contains(array.name))
          renames.push_back(
              {{"stored", literal(optimizer_prefix + array.name)}, {"name", literal(optimizer_prefix + array.name)}});
    renames.push_back({{"stored", model_prefix_ + weights_folder + "{param}"}, {"name", "{param}"}});
    return renames;
  }

  const TagFiles& files_;
  const ModelStates& states_;
  const TagSchemas& schemas_;
  std::string model_prefix_;  // none where there is one file only
  std::vector<ZeroGroup> groups_;
};

}  // namespace

std::string zero_layout(const TagFiles& files, const ModelStates& states, const TagSchemas& schemas) {
  return ZeroLayout(files, states, schemas).write().dump(2) + "\n";
}

CardFiles zero_files(const TagFiles& files, const std::string& folder, const Mesh& mesh) {
  std::vector<FileEntry> entries;
  for (PathPrefix& each : paths_in(files, folder))
    entries.push_back({FileTemplate(std::move(each.path), mesh), std::move(each.prefix)});
  return CardFiles(std::move(entries));
}

}  // namespace ckpt::deepspeed
