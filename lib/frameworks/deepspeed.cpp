#include "frameworks/deepspeed.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "frameworks/deepspeed_files.hpp"
#include "frameworks/zero_layout.hpp"
#include "frameworks/zero_states.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

using deepspeed::ModelStates;
using deepspeed::ModuleLayout;
using deepspeed::TagFiles;

constexpr unsigned most_at_once = 8;

class DeepSpeedDescription {
 public:
  DeepSpeedDescription(const fs::path& directory, SourceStore& store, ModuleLayout* module)
      : directory_(directory),
        store_(store),
        module_(module),
        files_(deepspeed::find_tag(directory, module == nullptr ? "" : module->axis)) {}

  Described describe() {
    if (!files_.folder.empty()) spdlog::info("{} names {}", deepspeed::latest_file, files_.tag);
    states_ = read_states(0);
    if (module_ != nullptr)
      with_file((directory_ / files_.path(files_.model, 0)).string(),
                [&] { deepspeed::check_module(*module_, files_, states_); });
    std::vector<ModelStates> all_states{states_};
    for (std::uint64_t rank = 1; rank < states_.model_ranks; ++rank) {
      all_states.push_back(read_states(rank));
      check_alike(all_states.back(), rank);
    }
    check_optimizer_files();
    const std::size_t models = files_.model_of_each_rank ? states_.data_ranks : 1;
    for (std::uint64_t rank = 0; rank < models; ++rank) add(files_.model, rank);
    const std::size_t all_models = described_.files.size();
    if (!files_.optimizer.empty())
      for (std::uint64_t rank = 0; rank < states_.data_ranks; ++rank) add(files_.optimizer, rank);
    read_files();
    deepspeed::TagSchemas schemas{described_.files.front().catalog.schema.get(), {}};
    if (module_ != nullptr)
      deepspeed::check_rules(*module_->weights, deepspeed::names_of_module(*schemas.model, states_));
    if (module_ != nullptr && files_.model_of_each_rank)
      module_->keys_of_pieces = deepspeed::keys_of_pieces(*module_, files_, all_states);
    if (module_ != nullptr && states_.groups.empty()) module_->states = read_optimizer_order();
    for (std::size_t i = all_models; i < described_.files.size(); i += states_.model_ranks)
      schemas.optimizers.push_back(described_.files[i].catalog.schema.get());
    const std::string text = with_file((directory_ / files_.path(files_.optimizer, 0)).string(),
                                       [&] { return deepspeed::zero_layout(files_, states_, schemas, module_); });
    const std::string origin = "what " + directory_.string() + " says of itself";
    described_.layout = parse_layout(text, module_ == nullptr ? origin : module_->weights->origin + " with " + origin);
    described_.elsewhere = described_.layout;
    described_.elsewhere.files = deepspeed::zero_files(files_, files_.tag + "/", described_.layout.mesh);
    tell_tied();
    return std::move(described_);
  }

 private:
  ModelStates read_states(std::uint64_t model_rank) const {
    const fs::path file = directory_ / files_.path(files_.model, 0, model_rank);
    ModelStates states = deepspeed::read_model_states(file);
    if (module_ == nullptr && states.model_ranks != 1)
      throw Error(Kind::input, file.string() + ": mp_world_size",
                  {"found " + std::to_string(states.model_ranks),
                   "expected 1, as DeepSpeed does not say how model ranks have cut the weights",
                   "give a layout of the weights' splits, without \"files\" (--layout)"});
    return states;
  }

  /// The flat data of all model ranks must have the same parameters in the same order.
  void check_alike(const ModelStates& states, std::uint64_t model_rank) const {
    if (deepspeed::lists_same_parameters(states, states_)) return;
    throw Error(Kind::input, (directory_ / files_.path(files_.model, 0, model_rank)).string(),
                {"found other parameters in param_shapes, or in another order, than " + files_.path(files_.model, 0, 0),
                 "expected the same, as model ranks that cut each of them have",
                 "give a whole layout (layouts/deepspeed-zero2.json shows how)"});
  }

  /// Of ZeRO-0: the numbers that stand for weights must be the same for all model ranks.
  std::vector<deepspeed::StateOfWeight> read_optimizer_order() const {
    const auto order = deepspeed::read_states_of_weights(directory_ / files_.path(files_.model, 0));
    for (std::uint64_t rank = 1; rank < states_.model_ranks; ++rank) {
      const fs::path file = directory_ / files_.path(files_.model, 0, rank);
      if (deepspeed::read_states_of_weights(file) != order)
        throw Error(
            Kind::input, file.string() + ": optimizer",
            {"found its parameters in another order than in " + files_.path(files_.model, 0, 0),
             "expected the same, as model ranks that cut each of them have", "give a whole layout, with \"files\""});
    }
    return order;
  }

  /// A data rank's file of each model rank.
  void add(const std::string& file, std::uint64_t data_rank) {
    for (std::uint64_t rank = 0; rank < states_.model_ranks; ++rank) {
      const std::string name = files_.path(file, data_rank, rank);
      described_.files.push_back({name, name, {}});
    }
  }

  /// Several at a time: each takes a child process, which reads what is in it.
  void read_files() {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    for_each_in_parallel(std::min(cores, most_at_once), described_.files.size(), [&](std::uint64_t n) {
      DescribedFile& file = described_.files[n];
      file.catalog = store_.catalog(directory_ / file.path);
    });
  }

  void check_optimizer_files() const {
    const std::uint64_t expected = states_.groups.empty() ? 0 : states_.data_ranks * states_.model_ranks;
    if (files_.optimizer_files == expected) return;
    const std::string model = files_.path(files_.model, 0).substr(files_.folder.size());
    const std::string ranks = std::to_string(expected) + " (dp_world_size " +
                              (module_ == nullptr ? "" : "and mp_world_size ") + "of " + model + ")";
    throw Error(
        Kind::input, (directory_ / files_.folder).string(),
        {"found optimizer files of " + std::to_string(files_.optimizer_files) + " ranks",
         "expected " + (expected == 0 ? "none, as " + model + " lists no groups of parameters" : ranks),
         files_.optimizer_files < expected ? "restore the others; the model states alone can be read as a single file"
                                           : "remove those of another job"});
  }

  /// ZeRO-3 keeps one of them only.
  void tell_tied() const {
    if (!files_.model_of_each_rank || states_.tied.empty()) return;
    std::vector<std::string> names;
    for (const auto& each : states_.tied) names.push_back(each.name + " (" + each.to + ")");
    spdlog::info("weights that are others, and stored with these: {}", join(names));
  }

  fs::path directory_;
  SourceStore& store_;
  ModuleLayout* module_;
  TagFiles files_;
  ModelStates states_;
  Described described_;
};

}  // namespace

bool is_deepspeed(const fs::path& directory) {
  return deepspeed::has_tag(directory);
}

Described describe_deepspeed(const fs::path& directory, SourceStore& store) {
  return DeepSpeedDescription(directory, store, nullptr).describe();
}

Described describe_deepspeed_of(const fs::path& directory, const Layout& weights, SourceStore& store) {
  ModuleLayout module = deepspeed::module_layout(weights);
  return DeepSpeedDescription(directory, store, &module).describe();
}

}  // namespace ckpt
