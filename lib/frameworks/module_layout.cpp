#include "frameworks/module_layout.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/zero_groups.hpp"
#include "layout/name_groups.hpp"
#include "layout/pattern_index.hpp"

namespace ckpt::deepspeed {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* data_axis = "dp";

[[noreturn]] void refuse_weights(const Layout& layout, const std::string& found, const std::string& expected) {
  throw Error(Kind::layout, layout.origin,
              {"found " + found,
               "expected " + expected + ", as a layout without \"files\" says only how DeepSpeed's " +
                   "model ranks have cut the weights",
               "leave out what the files say themselves, or say all (layouts/deepspeed-zero2.json shows how)"});
}

/// What is in it beside the mesh and the rules.
std::string other_keys(const Layout& layout) {
  std::vector<std::string> keys;
  if (!layout.rename.empty()) keys.emplace_back("\"rename\"");
  if (!layout.indices.empty()) keys.emplace_back("\"indices\"");
  if (!layout.buckets.empty()) keys.emplace_back("\"buckets\"");
  if (!layout.tables.empty()) keys.emplace_back("\"tables\"");
  if (!layout.mesh.cards.empty()) keys.emplace_back("\"cards\" of the mesh");
  return join(keys);
}

void check_axis(const ModuleLayout& module, const std::string& axis, std::uint64_t said, const std::string& key,
                std::uint64_t found) {
  if (said == found) return;
  throw Error(Kind::input, key,
              {"found " + std::to_string(found),
               "expected " + std::to_string(said) + ", the size of the axis " + axis + " in " + module.weights->origin,
               "give the mesh of the job that saved (--to-mesh names that of the output)"});
}

}  // namespace

ModuleLayout module_layout(const Layout& layout) {
  if (const std::string keys = other_keys(layout); !keys.empty())
    refuse_weights(layout, keys, "\"mesh\", \"parameters\" and \"default\" alone");
  ModuleLayout module{&layout, "", 1, {}, ""};
  for (std::size_t axis = 0; axis < layout.mesh.axes.size(); ++axis) {
    const std::string& name = layout.mesh.axes[axis];
    if (name == data_axis) {
      module.data_ranks = layout.mesh.shape[axis];
    } else if (module.axis.empty()) {
      module.axis = name;
      module.ranks = layout.mesh.shape[axis];
    } else {
      refuse_weights(layout, "the axes " + join(layout.mesh.axes), "one for the model ranks, and \"dp\" if you like");
    }
  }
  if (module.axis.empty()) refuse_weights(layout, "the axis dp alone", "one for the model ranks");
  const Json all = Json::parse(to_json(layout));
  Json rules;
  rules["parameters"] = all.value("parameters", Json::array());
  rules["default"] = all.value("default", "error");
  module.rules = rules.dump();
  return module;
}

void check_rules(const Layout& layout, const Schema& model) {
  if (layout.otherwise == Default::replicate) return;
  std::vector<const Pattern*> names;
  for (const Rule& rule : layout.parameters)
    for (const Pattern& name : rule.names) names.push_back(&name);
  const PatternIndex patterns(std::move(names));
  std::vector<std::string> without;
  for (const StoredArray& array : *model.arrays)
    if (array.name.starts_with(weights_folder)) {
      std::string name = array.name.substr(std::string_view(weights_folder).size());
      if (!patterns.first(name)) without.push_back(std::move(name));
    }
  if (without.empty()) return;
  throw Error(Kind::layout, layout.origin,
              {"no rule for " + join(describe_groups(group_names(without))), "expected one for each weight and buffer",
               R"(add rules, or say "default": "replicate", where all model ranks have the same of them)"});
}

void check_module(const ModuleLayout& module, const TagFiles& files, const ModelStates& states) {
  check_axis(module, module.axis, module.ranks, "mp_world_size", states.model_ranks);
  if (module.data_ranks) check_axis(module, data_axis, *module.data_ranks, "dp_world_size", states.data_ranks);
  if (files.model_ranks != states.model_ranks)
    throw Error(
        Kind::input, "",
        {"found files of " + std::to_string(files.model_ranks) + " model ranks",
         "expected " + std::to_string(states.model_ranks) + " (mp_world_size)", "restore or remove the others"});
  if (files.model_of_each_rank || states.groups.empty())
    throw Error(Kind::input, "",
                {"found model ranks " + std::string(states.groups.empty() ? "without ZeRO, whose optimizer's state has "
                                                                            "no names"
                                                                          : "under ZeRO-3"),
                 "expected those of ZeRO-1 or 2 with a layout of the weights alone",
                 "give a whole layout, with \"files\" (layouts/deepspeed-zero3.json shows how)"});
}

}  // namespace ckpt::deepspeed
