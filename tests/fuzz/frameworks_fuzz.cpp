// Any pickles, end to end, are the trees of a job's files, one for each rank, in which every storage is as long as they
// say: what DeepSpeed, DTensors or Megatron's ranks say of themselves is a layout, or one error of the project's own
// type. And the first of them is a tree that travels to another number of ranks.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "frameworks/module_layout.hpp"
#include "frameworks/rank_files.hpp"
#include "frameworks/torch_dist_tree.hpp"
#include "frameworks/whole_optimizer.hpp"
#include "frameworks/zero_groups.hpp"
#include "frameworks/zero_layout.hpp"
#include "frameworks/zero_tree.hpp"
#include "layout/language/layout.hpp"
#include "store/torch/tree.hpp"

namespace {

using namespace ckpt;

constexpr std::size_t most_files = 4;
constexpr std::uint64_t most_storage_bytes = 1U << 20;

/// All that a refusal ends.
void attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error&) {
    return;
  }
}

/// Stays where it is: the nodes of a tree point into it.
struct File {
  std::string_view bytes;
  torch::Pickle tree;
};

std::deque<File> files_in(std::string_view bytes) {
  std::deque<File> files;
  attempt([&] {
    for (std::size_t at = 0; at < bytes.size() && files.size() < most_files;) {
      const std::size_t begin = at;
      auto tree = torch::Pickle::read(bytes, at);
      if (!tree) return;
      files.push_back({bytes.substr(begin, at - begin), std::move(*tree)});
    }
  });
  return files;
}

torch::Storages storages_of(const torch::Pickle& tree) {
  torch::Storages storages;
  for (torch::PickleId id = 0; id < tree.nodes().size(); ++id) {
    if (tree[id].kind != torch::PickleKind::persistent) continue;
    attempt([&] {
      const torch::StorageClaim claim = torch::storage_claim(tree, id);
      if (claim.elements <= most_storage_bytes / claim.dtype.size)
        storages.emplace(claim.key, Interval{0, claim.elements * claim.dtype.size});
    });
  }
  return storages;
}

std::vector<FileCatalog> catalogs_of(const std::deque<File>& files) {
  std::vector<FileCatalog> catalogs;
  for (const File& file : files) {
    catalogs.emplace_back();
    catalogs.back().schema = std::make_shared<const Schema>(torch::read_tree(file.tree, storages_of(file.tree)));
  }
  return catalogs;
}

void describe_ranks(const std::vector<FileCatalog>& catalogs) {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < catalogs.size(); ++rank) names.push_back("rank_" + std::to_string(rank) + ".pt");
  const auto described = describe_rank_files(names, catalogs, "fuzz");
  if (described) parse_layout(to_json(described->layout), "fuzz");
}

/// The first file has the model's states, the others the optimizer's.
void describe_zero(const File& model, const std::vector<FileCatalog>& catalogs) {
  const auto states = deepspeed::model_states(model.tree);
  deepspeed::TagSchemas schemas{catalogs[0].schema.get(), {}};
  for (std::size_t i = 1; i < catalogs.size(); ++i) schemas.optimizers.push_back(catalogs[i].schema.get());
  deepspeed::TagFiles files;
  files.optimizer = "zero_pp_rank_{dp}_mp_rank_00_optim_states.pt";
  files.optimizer_files = schemas.optimizers.size();
  for (const bool of_each_rank : {false, true}) {
    files.model = of_each_rank ? "zero_pp_rank_{dp}_mp_rank_00_model_states.pt" : "mp_rank_00_model_states.pt";
    files.model_of_each_rank = of_each_rank;
    attempt([&] { checked(deepspeed::zero_layout(files, states, schemas)); });
  }
}

/// The same of two model ranks, whose weights' splits a layout gives; once for ZeRO-3, too, which has files of its own
/// for them.
void describe_model_ranks(const File& model, const std::vector<FileCatalog>& catalogs) {
  static const Layout weights = parse_layout(
      R"({"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [2]}, "parameters": [{"name": "*w*", "split": ["tp"]},
          {"name": "*b*", "split": [null, "tp"]}]})",
      "fuzz");
  deepspeed::ModelStates states = deepspeed::model_states(model.tree);
  if (states.groups.empty()) states.optimizer = deepspeed::states_of_weights(model.tree, storages_of(model.tree));
  for (const bool of_each_rank : {false, true}) {
    deepspeed::ModuleLayout module = deepspeed::module_layout(weights);
    deepspeed::TagFiles files;
    files.model =
        of_each_rank ? "zero_pp_rank_{dp}_mp_rank_{tp:02}_model_states.pt" : "mp_rank_{tp:02}_model_states.pt";
    files.optimizer = "zero_pp_rank_{dp}_mp_rank_{tp:02}_optim_states.pt";
    files.model_of_each_rank = of_each_rank;
    files.model_axis = module.axis;
    files.model_ranks = module.ranks;
    files.optimizer_files = states.groups.empty() ? 0 : catalogs.size() - 1;
    deepspeed::TagSchemas schemas{catalogs[0].schema.get(), {}};
    for (std::size_t i = 1; i < catalogs.size(); ++i) schemas.optimizers.push_back(catalogs[i].schema.get());
    attempt([&] {
      deepspeed::check_module(module, files, states);
      deepspeed::check_rules(weights, deepspeed::names_of_module(*schemas.model, states));
      if (of_each_rank) module.keys_of_pieces = deepspeed::keys_of_pieces(module, files, {states, states});
      module.states = states.optimizer;
      checked(deepspeed::zero_layout(files, states, schemas, &module));
    });
  }
}

void rewrite_zero(const std::string& tree) {
  deepspeed::ZeroTree zero(tree);
  zero.set_ranks(3, 1);
  zero.set_shapes([](const std::string& path) {
    return path.size() % 2 == 0 ? std::optional(Shape{path.size(), 2}) : std::nullopt;
  });
  zero.set_partitions(3);
  const std::vector<deepspeed::GroupSlice> slices{{4, 4, 9, 3, {{"w", {0, 3}, 7}, {"b", {3, 4}, 2}}}};
  zero.set_slices(slices);
  const std::string rewritten = zero.take();
  attempt([&] { zero.check_groups(slices, 3, false); });
  deepspeed::ZeroTree(rewritten).take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::deque<File> files = files_in({reinterpret_cast<const char*>(data), size});
  if (files.empty()) return 0;
  attempt([&] {
    const auto catalogs = catalogs_of(files);
    attempt([&] { describe_ranks(catalogs); });
    attempt([&] { describe_zero(files[0], catalogs); });
    attempt([&] { describe_model_ranks(files[0], catalogs); });
  });
  const std::string tree(files[0].bytes);
  attempt([&] { rewrite_zero(tree); });
  attempt([&] { torch_dist::value_names(tree); });
  std::vector<torch_dist::RankTree> ranks;
  for (std::size_t n = 0; n < files.size(); ++n)
    ranks.push_back(
        {torch_dist::RankTree::Rank{n % 2, n / 2}, std::string(files[n].bytes), {}, [](const std::string& name) {
           return name;
         }});
  attempt([&] { torch_dist::common_state(ranks, {"a.weight", "a._extra_state"}); });
  return 0;
}
