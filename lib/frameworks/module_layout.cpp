#include "frameworks/module_layout.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/zero_groups.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/names/naming.hpp"
#include "layout/names/pattern_index.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt::deepspeed {

namespace {

constexpr const char* data_axis = "dp";

[[noreturn]] void refuse_weights(const Layout& layout, const std::string& found, const std::string& expected) {
  throw Error(
      Kind::layout, layout.origin,
      {"found " + found,
       expected + ", as a layout without \"files\" says only how DeepSpeed's " + "model ranks have cut the weights",
       "leave out what the files say themselves, or say all (layouts/deepspeed-zero2.json shows how)"});
}

/// The keys that a layout has besides the mesh and the rules.
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
               std::to_string(said) + ", the size of the axis " + axis + " in " + module.weights->origin,
               "give the mesh of the job that saved (--to-mesh names that of the output)"});
}

/// The weights that ZeRO-3 cut.
std::vector<NamedShape> weights_in(const ModelStates& states) {
  std::vector<NamedShape> weights;
  for (const auto& group : states.groups) weights.insert(weights.end(), group.begin(), group.end());
  for (const NamedShape& each : states.frozen)
    if (numel(each.shape) > 0) weights.push_back(each);
  return weights;
}

/// A model rank's weights, as a file that holds them whole would have them.
CardArrays shapes_in(const ModelStates& states) {
  std::vector<StoredArray> arrays;
  for (NamedShape& each : weights_in(states))
    arrays.push_back({std::move(each.name), *number_type("f32"), each.shape, std::nullopt, false});
  std::sort(arrays.begin(), arrays.end(), [](const StoredArray& a, const StoredArray& b) { return a.name < b.name; });
  return std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
}

void check_cuts(const Keys& keys, const Layout& layout, const std::string& name) {
  for (const auto& [key, is_there] :
       {std::pair{"at", keys.at.has_value()}, {"boxes", keys.boxes.get() != nullptr}, {"flat", keys.flat.has_value()}})
    if (is_there)
      throw Error(Kind::layout, layout.origin + ": parameter '" + name + "'",
                  {"found \"" + std::string(key) + "\"",
                   "\"split\" and its like alone, as ZeRO-3 cuts what they leave over the data ranks",
                   "give a whole layout, with \"files\" (layouts/deepspeed-zero3.json shows how)"});
}

}  // namespace

ModuleLayout module_layout(const Layout& layout) {
  if (const std::string keys = other_keys(layout); !keys.empty())
    refuse_weights(layout, keys, "\"mesh\", \"parameters\" and \"default\" alone");
  ModuleLayout module{&layout, "", 1, {}};
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
  return module;
}

Layout on_all_ranks(const ModuleLayout& module, std::uint64_t data_ranks) {
  return with_axes(*module.weights, Mesh{{data_axis, module.axis}, {data_ranks, module.ranks}, {}});
}

std::vector<std::string> names_of_module(const Schema& model, const ModelStates& states) {
  std::vector<std::string> names;
  for (const StoredArray& array : *model.arrays)
    if (array.name.starts_with(weights_folder))
      names.push_back(array.name.str().substr(std::string_view(weights_folder).size()));
  for (const NamedShape& each : weights_in(states)) names.push_back(each.name);
  names.insert(names.end(), states.buffers.begin(), states.buffers.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void check_rules(const Layout& layout, const std::vector<std::string>& weights) {
  if (layout.default_rule == Default::replicate) return;
  std::vector<const Pattern*> names;
  for (const Rule& rule : layout.parameters)
    for (const Pattern& name : rule.names) names.push_back(&name);
  const PatternIndex patterns(std::move(names));
  std::vector<std::string> without;
  for (const std::string& name : weights)
    if (!patterns.first(name)) without.push_back(name);
  if (without.empty()) return;
  throw Error(Kind::layout, layout.origin,
              {"no rule for " + join(describe_groups(group_names(without))), "one for each weight and buffer",
               R"(add rules, or say "default": "replicate", where all model ranks have the same of them)"});
}

void check_module(const ModuleLayout& module, const TagFiles& files, const ModelStates& states) {
  check_axis(module, module.axis, module.ranks, "mp_world_size", states.model_ranks);
  if (module.data_ranks) check_axis(module, data_axis, *module.data_ranks, "dp_world_size", states.data_ranks);
  if (files.model_ranks != states.model_ranks)
    throw Error(Kind::input, "",
                {"found files of " + std::to_string(files.model_ranks) + " model ranks",
                 std::to_string(states.model_ranks) + " (mp_world_size)", "restore or remove the others"});
}

std::map<std::string, Keys> keys_of_pieces(const ModuleLayout& module, const TagFiles& files,
                                           const std::vector<ModelStates>& ranks) {
  Layout layout = on_all_ranks(module, ranks.front().data_ranks);
  layout.files = CardFiles({FileEntry{FileTemplate(files.folder + files.model, layout.mesh), ""}});
  std::vector<CardArrays> by_rank;
  for (const ModelStates& states : ranks) by_rank.push_back(shapes_in(states));
  std::vector<CardArrays> card_arrays;
  for (Position card = 0; card < layout.mesh.size(); ++card) card_arrays.push_back(by_rank[card % ranks.size()]);
  const Placement whole = resolve_source(layout, card_arrays).placement;
  const Naming naming(layout);
  std::map<std::string, Keys> keys;
  for (const Tensor& weight : whole.tensors()) {
    Keys own = naming.decide(weight.name)->keys;
    check_cuts(own, layout, weight.name);
    own.shape.emplace(weight.shape.begin(), weight.shape.end());
    own.replicas.reset();
    keys.emplace(weight.name, own.plain());
  }
  for (const std::string& buffer : ranks.front().buffers) keys.emplace(buffer, naming.decide(buffer)->keys.plain());
  return keys;
}

}  // namespace ckpt::deepspeed
