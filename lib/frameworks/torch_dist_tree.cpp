#include "frameworks/torch_dist_tree.hpp"

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "frameworks/dcp.hpp"
#include "frameworks/torch_dist.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/held_value.hpp"
#include "store/pickle/pickle.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/carried_tree.hpp"
#include "store/torch/element_types.hpp"
#include "store/torch/write_file.hpp"
#include "tensor/restrided.hpp"

namespace ckpt::torch_dist {

namespace {

namespace op = torch::op;
using torch::node_of;
using torch::Pickle;
using torch::PickleId;
using torch::PickleKind;
using torch::PickleNode;

constexpr const char* generators = "rng_state";
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

/// Whether this is the key of a model: "model" if it is whole, "model0" and so on for virtual stages.
bool is_model(std::string_view key) {
  return key.starts_with(model_key) && key.find_first_not_of("0123456789", model_key.size()) == std::string_view::npos;
}

/// The numbers of tensor and pipeline ranks; nothing unless each of them is there exactly once.
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

/// A value of a tree as a pickle of its own; nothing if it has a tensor of which only the name is there.
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

/// The parts of the first model_optim_rng.pt that torch_dist saves as separate objects: modules' objects, and the
/// states of generators.
class RankObjects {
 public:
  /// `names`: torch_dist names of the tensors that are written.
  explicit RankObjects(const std::vector<std::string>& names) : layers_(layers_in(names)) {}

  /// `tree`: the rank's tree with values in it. `ranks`: `counts` of all ranks; without it, generators are skipped.
  void add(const Pickle& tree, const RankTree& rank, const std::optional<RankTree::Rank>& ranks) {
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

  /// Returns all objects as the tree of a DCP directory; to be called once.
  std::string take() {
    objects_.merge(nothings_);  // where nothing else is known
    torch::PickleWriter out(objects_protocol);
    out.text(torch::carried_paths);
    out.opcode(op::empty_dict, op::mark);
    for (const auto& [name, pickle] : objects_) {
      torch::write_path(out, {{name}});
      out.opcode(op::empty_list);  // of one rank
      torch::write_copy(pickle, out);
      out.opcode(op::append);
    }
    out.opcode(op::setitems, op::tuple2, op::binpersid);
    return out.take();
  }

 private:
  /// If a layer's object is None (as all are without fp8), it is None in every layer that no rank reports.
  void add_modules(const Pickle& tree, const std::string& part, PickleId model, const RankTree& rank) {
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

  std::set<std::string> layers_;
  std::map<std::string, std::string> objects_;   // pickles by their items' names
  std::map<std::string, std::string> nothings_;  // the same, for layers that perhaps no rank reports
};

constexpr const char* optimizer_folder = "optimizer/";
/// Where layouts put distrib_optim.pt. It says how one number of ranks cut the optimizer, which torch_dist need not
/// keep.
constexpr const char* cut_optimizer = "distrib_optim";
constexpr const char* state_form = "fully_reshardable";
constexpr const char* finished_text =
    R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch", "common_backend_version": 1})";

PickleId add_tuple(Pickle& tree, std::vector<PickleId> items) {
  PickleNode tuple = node_of(PickleKind::tuple);
  tuple.items = std::move(items);
  return tree.add(std::move(tuple));
}

PickleId add_numbers(Pickle& tree, const Shape& numbers) {
  std::vector<PickleId> items;
  for (const std::uint64_t number : numbers)
    items.push_back(torch::add_integer(tree, static_cast<std::int64_t>(number)));
  return add_tuple(tree, std::move(items));
}

PickleId add_boolean(Pickle& tree, bool value) {
  PickleNode node = node_of(PickleKind::boolean);
  node.number = value ? 1 : 0;
  return tree.add(std::move(node));
}

PickleId add_global(Pickle& tree, std::string_view module, std::string_view name) {
  PickleNode global = node_of(PickleKind::global);
  global.number = static_cast<std::int64_t>(module.size());
  global.text = tree.keep(std::string(module) + "." + std::string(name));
  return tree.add(std::move(global));
}

PickleNode call_of(PickleId function, PickleId arguments) {
  PickleNode call = node_of(PickleKind::call, op::reduce);
  call.function = function;
  call.arguments = arguments;
  return call;
}

void add_pair(Pickle& tree, PickleId dict, const char* key, PickleId value) {
  const PickleId name = torch::add_text(tree, key);
  std::vector<PickleId>& items = tree.change(dict).items;
  items.push_back(name);
  items.push_back(value);
}

Pickle parsed_rest(const std::string& bytes) {
  std::size_t at = 0;
  auto tree = Pickle::read(bytes, at);
  if (!tree) throw Error(Kind::input, "its tree", {"ends before its object does", "a whole one", ""});
  const PickleId root = tree->root();
  if (root == torch::no_node || tree->value_of(root, "checkpoint_version") == torch::no_node)
    throw Error(Kind::input, "what the source says besides tensors",
                {"found no checkpoint_version", "what Megatron saves in model_optim_rng.pt",
                 "take --format dcp, or a source that Megatron has saved"});
  return std::move(*tree);
}

/// Replaces a tensor's name: the call that makes the tensor, with its bytes.
PickleNode value_node(Pickle& tree, const std::string& name, const SmallTensor& value) {
  const auto type = torch::torch_type(value.dtype);
  PickleNode text = node_of(PickleKind::bytes, torch::bytes_opcode(value.bytes.size()));
  text.text = tree.keep(value.bytes);
  PickleNode storage = node_of(PickleKind::persistent);
  storage.arguments = add_tuple(
      tree, {torch::add_text(tree, torch::carried_bytes), add_global(tree, "torch", type->storage),
             torch::add_text(tree, name), torch::add_integer(tree, static_cast<std::int64_t>(numel(value.shape))),
             tree.add(std::move(text))});
  const PickleId hooks =
      tree.add(call_of(add_global(tree, "collections", "OrderedDict"), tree.add(node_of(PickleKind::tuple))));
  const PickleId arguments =
      add_tuple(tree, {tree.add(std::move(storage)), torch::add_integer(tree, 0), add_numbers(tree, value.shape),
                       add_numbers(tree, row_major_strides(value.shape)), add_boolean(tree, false), hooks});
  return call_of(add_global(tree, "torch._utils", "_rebuild_tensor_v2"), arguments);
}

void put_values(Pickle& tree, const SmallTensors& values) {
  const std::size_t count = tree.nodes().size();
  for (PickleId id = 0; id < count; ++id) {
    if (tree[id].kind != PickleKind::persistent) continue;
    const auto name = torch::carried_name(tree, id);
    const auto value = name ? values.find(std::string(*name)) : values.end();
    if (value == values.end() || torch::torch_type(value->second.dtype)->storage.empty()) continue;
    PickleNode made = value_node(tree, value->first, value->second);
    tree.change(id) = std::move(made);
  }
}

/// How a checkpoint describes its form to the loading job: `content_metadata` of dist_checkpointing.save.
PickleId content_metadata(Pickle& tree) {
  PickleNode empty = node_of(PickleKind::dict);
  empty.has_pairs = true;
  const PickleId dict = tree.add(std::move(empty));
  add_pair(tree, dict, "distrib_optim_sharding_type", torch::add_text(tree, state_form));
  add_pair(tree, dict, "singleton_local_shards", add_boolean(tree, false));
  add_pair(tree, dict, "chained_optim_avoid_prefix", add_boolean(tree, true));
  add_pair(tree, dict, "non_homogeneous_layers", add_boolean(tree, true));  // each layer has its own tensors
  return dict;
}

/// Records in the optimizer's dict in which form its state is saved.
void record_form(Pickle& tree) {
  const PickleId optimizer = tree.value_of(tree.root(), "optimizer");
  if (optimizer == torch::no_node || !tree[optimizer].has_pairs)
    throw Error(
        Kind::input, "optimizer",
        {optimizer == torch::no_node ? "is not there" : "is no dict: several optimizers, as for experts",
         "one optimizer's groups of parameters beside its state", "write the weights alone, with --only 'model/*'"});
  add_pair(tree, optimizer, "param_state_sharding_type", torch::add_text(tree, state_form));
}

/// The tree of common.pt: without the weights, which are elsewhere, and generators' states, which are each rank's.
std::string common_tree(Pickle tree, bool has_states) {
  std::vector<PickleId> kept;
  const std::vector<PickleId>& items = tree[tree.root()].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string_view key = tree[items[i]].text;
    if (is_model(key) || key == generators || key == cut_optimizer || (key == "optimizer" && !has_states)) continue;
    kept.push_back(items[i]);
    kept.push_back(items[i + 1]);
  }
  tree.change(tree.root()).items = std::move(kept);
  if (has_states) record_form(tree);
  add_pair(tree, tree.root(), "content_metadata", content_metadata(tree));
  torch::PickleWriter out(tree.protocol());
  torch::PickleCopy copy(tree, out, [](PickleId) { return false; });
  copy.node(tree.root());
  return out.take();
}

/// The bytes of a .pt file with this tree and no tensor.
std::string file_of(const std::string& tree) {
  FileSpec spec;
  spec.tree = std::make_shared<const std::string>(tree);
  const NewFile made = torch::form_of(spec);
  std::string bytes(made.room.bytes, '\0');
  for (const FileSegment& segment : made.segments) bytes.replace(segment.offset, segment.bytes.size(), segment.bytes);
  return bytes;
}

}  // namespace

std::optional<RankTree::Rank> rank_in_path(const std::string& path) {
  static const std::regex form(R"((?:.*/)?mp_rank_(\d{1,9})(?:_(\d{1,9}))?/[^/]*)");
  std::smatch found;
  if (!std::regex_match(path, found, form)) return std::nullopt;
  return RankTree::Rank{std::stoull(found[1]), found[2].matched ? std::stoull(found[2]) : 0};
}

std::set<std::string> value_names(const std::string& tree, bool has_states) {
  const Pickle parsed = parsed_rest(tree);
  std::set<std::string> names;
  for (PickleId id = 0; id < parsed.nodes().size(); ++id) {
    if (parsed[id].kind != PickleKind::persistent) continue;
    const auto name = torch::carried_name(parsed, id);
    if (!name || (!has_states && name->starts_with(optimizer_folder))) continue;
    if (!is_model(name->substr(0, name->find('/'))) || name->ends_with(extra_state)) names.emplace(*name);
  }
  return names;
}

CommonState common_state(const std::vector<RankTree>& ranks, const std::vector<std::string>& names) {
  RankObjects objects(names);
  const auto count = counts(ranks);
  if (!count)
    log::warn(
        "states of generators are left out, as the files' names do not say of which ranks all are "
        "(--no-load-rng)");
  std::optional<Pickle> first;
  for (const RankTree& each : ranks) {
    Pickle parsed = parsed_rest(each.tree);
    put_values(parsed, each.values);
    objects.add(parsed, each, count);
    if (!first) first = std::move(parsed);
  }
  const bool has_states =
      std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with(state_prefix); });
  CommonState made;
  made.objects = objects.take();
  made.files = {{torch::torch_dist_tree, file_of(common_tree(std::move(first).value(), has_states))},
                {torch_dist_finished, finished_text}};
  return made;
}

}  // namespace ckpt::torch_dist
