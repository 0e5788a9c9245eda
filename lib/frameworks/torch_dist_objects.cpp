#include "frameworks/torch_dist_objects.hpp"

#include <algorithm>
#include <regex>
#include <utility>

#include "frameworks/torch_dist.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/carried_tree.hpp"

namespace ckpt::torch_dist {

namespace {

using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;

/// Ends the name of a module's object that one rank holds whole.
constexpr const char* whole_shard = "/shard_0_1";
/// Megatron saves nothing for this module.
constexpr std::string_view no_object = "output_layer._extra_state";
constexpr std::string_view layers_word = ".layers.";
constexpr std::string_view model_key = "model";
constexpr unsigned objects_protocol = 2;

/// "decoder.layers.12.mlp.x" → "decoder.layers." and ".mlp.x"; empty for a name of no layer.
std::pair<std::string, std::string> around_layer(const std::string& name) {
  const std::size_t word = name.find(layers_word);
  if (word == std::string::npos) return {};
  const std::size_t number = word + layers_word.size();
  const std::size_t end = name.find('.', number);
  return end == std::string::npos ? std::pair<std::string, std::string>{}
                                  : std::pair{name.substr(0, number), name.substr(end)};
}

/// The layers that have a tensor, as "decoder.layers.12".
std::set<std::string> layers_in(const std::vector<std::string>& names) {
  std::set<std::string> layers;
  for (const std::string& name : names)
    if (const auto [before, behind] = around_layer(name); !before.empty() && !name.starts_with(state_prefix))
      layers.insert(name.substr(0, name.size() - behind.size()));
  return layers;
}

/// A rank's numbers, pipeline before tensor.
std::string pair_text(const RankTree::Rank& pair) {
  return std::to_string(pair.pipeline) + "." + std::to_string(pair.tensor);
}

}  // namespace

bool is_model(std::string_view key) {
  return key.starts_with(model_key) && key.find_first_not_of("0123456789", model_key.size()) == std::string_view::npos;
}

std::optional<RankTree::Rank> counts(const std::vector<RankTree>& ranks) {
  RankTree::Rank count;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const RankTree& each : ranks) {
    if (!each.rank || !seen.emplace(each.rank->tensor, each.rank->pipeline).second) return std::nullopt;
    count.tensor = std::max(count.tensor, each.rank->tensor + 1);
    count.pipeline = std::max(count.pipeline, each.rank->pipeline + 1);
  }
  return seen.size() == count.tensor * count.pipeline ? std::optional(count) : std::nullopt;
}

std::optional<std::string> pickle_of(const Pickle& tree, PickleId value) {
  bool has_all = true;
  torch::PickleWriter out(tree.protocol());
  torch::PickleCopy copy(tree, out, [&](PickleId id) {
    has_all = has_all && !torch::carried_name(tree, id);
    return false;
  });
  copy.node(value);
  return has_all ? std::optional(out.take()) : std::nullopt;
}

std::optional<RankTree::Rank> rank_in_path(const std::string& path) {
  static const std::regex form(R"((?:.*/)?mp_rank_(\d{1,9})(?:_(\d{1,9}))?/[^/]*)");
  std::smatch found;
  if (!std::regex_match(path, found, form)) return std::nullopt;
  return RankTree::Rank{std::stoull(found[1]), found[2].matched ? std::stoull(found[2]) : 0};
}

RankObjects::RankObjects(const std::vector<std::string>& names) : layers_(layers_in(names)) {}

void RankObjects::add(const Pickle& tree, const RankTree& rank, const std::optional<RankTree::Rank>& ranks) {
  const std::vector<PickleId>& items = tree[tree.root()].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string_view key = tree[items[i]].text;
    if (is_model(key)) add_modules(tree, std::string(key), items[i + 1], rank);
    if (key != generators || !ranks) continue;
    if (auto pickle = pickle_of(tree, items[i + 1]))
      objects_.emplace(std::string(generators) + "/shard_" + pair_text(*rank.rank) + "_" + pair_text(*ranks),
                       *std::move(pickle));
  }
}

std::string RankObjects::take() {
  objects_.merge(nothings_);  // where nothing else is known
  torch::PickleWriter out(objects_protocol);
  out.text(torch::carried_paths);
  out.opcode('}');
  out.opcode(torch::PickleWriter::mark);
  for (const auto& [name, pickle] : objects_) {
    torch::write_path(out, {{name}});
    out.opcode(']');  // of one rank
    torch::write_copy(pickle, out);
    out.opcode('a');
  }
  out.opcode('u');
  out.opcode(0x86);
  out.opcode('Q');
  return out.take();
}

/// If a layer's object is None (as all are without fp8), it is None in every layer that no rank reports.
void RankObjects::add_modules(const Pickle& tree, const std::string& part, PickleId model, const RankTree& rank) {
  const std::vector<PickleId>& items = tree[model].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string own(tree[items[i]].text);
    const PickleId value = items[i + 1];
    if (!own.ends_with(extra_state) || own == no_object) continue;
    const std::string whole = rank.name_of(part + "/" + own);
    const std::string name = whole.substr(whole.find('/') + 1);
    const auto pickle = pickle_of(tree, value);
    if (!pickle) continue;
    objects_.try_emplace(name + whole_shard, *pickle);
    if (tree[value].kind != PickleKind::none) continue;
    if (const auto [before, behind] = around_layer(name); !before.empty())
      for (const std::string& layer : layers_)
        if (layer.starts_with(before)) nothings_.try_emplace(layer + behind + whole_shard, *pickle);
  }
}

}  // namespace ckpt::torch_dist
