#include "frameworks/deepspeed.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/parallel.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/deepspeed_files.hpp"
#include "frameworks/zero_groups.hpp"
#include "frameworks/zero_layout.hpp"
#include "frameworks/zero_states.hpp"
#include "layout/language/mesh.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

using deepspeed::ModelStates;
using deepspeed::ModuleLayout;
using deepspeed::TagFiles;

constexpr unsigned most_at_once = 8;
constexpr std::size_t most_named = 64;  // ranks whose files are missing

class DeepSpeedDescription {
 public:
  DeepSpeedDescription(const fs::path& directory, SourceStore& store, ModuleLayout* module)
      : directory_(directory),
        store_(store),
        module_(module),
        files_(deepspeed::find_tag(directory, module == nullptr ? "" : module->axis)) {}

  DirectoryDescription describe() {
    if (!files_.folder.empty()) log::info("{} names {}", deepspeed::latest_file, files_.tag);
    states_ = read_states(0);
    if (module_ != nullptr)
      with_file((directory_ / files_.path(files_.model, 0)).string(),
                [&] { deepspeed::check_module(*module_, files_, states_); });
    const std::vector<ModelStates> all_states = states_of_all();
    check_optimizer_files();
    const std::size_t models = files_.model_of_each_rank ? states_.data_ranks : 1;
    for (std::uint64_t rank = 0; rank < models; ++rank) add(files_.model, rank);
    const std::size_t all_models = described_.files.size();
    if (std::any_of(described_.files.begin(), described_.files.end(),
                    [&](const DescribedFile& file) { return !is_there(directory_ / file.path); }))
      refuse_missing_models();
    if (!files_.optimizer.empty())
      for (std::uint64_t rank = 0; rank < states_.data_ranks; ++rank) add(files_.optimizer, rank);
    read_files();
    deepspeed::TagSchemas schemas{described_.files.front().catalog.schema.get(), {}};
    if (module_ != nullptr)
      deepspeed::check_rules(*module_->weights, deepspeed::names_of_module(*schemas.model, states_));
    if (module_ != nullptr && files_.model_of_each_rank)
      module_->keys_of_pieces = deepspeed::keys_of_pieces(*module_, files_, all_states);
    if (module_ != nullptr) module_->states = states_.optimizer;
    for (std::size_t i = all_models; i < described_.files.size(); i += states_.model_ranks)
      schemas.optimizers.push_back(described_.files[i].catalog.schema.get());
    Layout layout = with_file((directory_ / files_.path(files_.optimizer, 0)).string(),
                              [&] { return deepspeed::zero_layout(files_, states_, schemas, module_); });
    const std::string origin = "what " + directory_.string() + " says of itself";
    layout.origin = module_ == nullptr ? origin : module_->weights->origin + " with " + origin;
    described_.layout = checked(layout);
    described_.elsewhere = described_.layout;
    described_.elsewhere.files = deepspeed::zero_files(files_, files_.tag + "/", described_.layout.mesh);
    described_.masters = masters();
    report_tied();
    return std::move(described_);
  }

 private:
  static bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
  }

  /// Names the ranks whose model states are missing, as far as file names and the states read so far show them.
  [[noreturn]] void refuse_missing_models() const {
    const std::uint64_t model_ranks = std::max(files_.model_ranks, states_.model_ranks);
    const std::uint64_t data_ranks = files_.model_of_each_rank ? std::max(files_.data_ranks, states_.data_ranks) : 1;
    std::vector<std::string> ranks;
    std::vector<std::string> names;
    for (std::uint64_t n = 0; n / model_ranks < data_ranks && names.size() < most_named; ++n) {
      const std::string path = files_.path(files_.model, n / model_ranks, n % model_ranks);
      if (is_there(directory_ / path)) continue;
      const std::uint64_t rank = files_.model_of_each_rank ? n / model_ranks : n % model_ranks;
      if (ranks.empty() || ranks.back() != std::to_string(rank)) ranks.push_back(std::to_string(rank));
      names.push_back(path.substr(files_.folder.size()));
    }
    const bool are_all_shared = !files_.model_of_each_rank && model_ranks == 1;
    if (are_all_shared) names.push_back("of ZeRO-3 zero_pp_rank_0_mp_rank_00_model_states.pt and those of other ranks");
    const std::string whose = are_all_shared      ? ""
                              : ranks.size() == 1 ? " of rank " + join(ranks)
                                                  : " of ranks " + join(ranks);
    const std::string folder = (directory_ / files_.folder).string();
    throw Error(Kind::input, folder,
                {"the model states" + whose + " are missing (" + join(names, 3) + ")", "them beside the others",
                 "copy them into " + shell_word(folder)});
  }

  ModelStates read_states(std::uint64_t model_rank) const {
    const fs::path file = directory_ / files_.path(files_.model, 0, model_rank);
    if (!is_there(file)) refuse_missing_models();
    ModelStates states = deepspeed::read_model_states(file, module_ != nullptr);
    if (module_ == nullptr && states.model_ranks != 1)
      throw Error(Kind::input, file.string() + ": mp_world_size",
                  {"found " + std::to_string(states.model_ranks),
                   "1, as DeepSpeed does not say how model ranks have cut the weights",
                   "give a layout of the weights' splits, without \"files\" (--layout)"});
    return states;
  }

  /// The model states of all ranks, by model rank.
  std::vector<ModelStates> states_of_all() const {
    std::vector<ModelStates> all(states_.model_ranks);
    all.front() = states_;
    in_parallel(all.size() - 1, [&](std::uint64_t n) { all[n + 1] = read_states(n + 1); });
    for (std::uint64_t rank = 1; rank < all.size(); ++rank) check_alike(all[rank], rank);
    return all;
  }

  /// All model ranks' flat data must have the same parameters in the same order; with ZeRO-0, the numbers must stand
  /// for the same weights.
  void check_alike(const ModelStates& states, std::uint64_t model_rank) const {
    const fs::path file = directory_ / files_.path(files_.model, 0, model_rank);
    const std::string first = files_.path(files_.model, 0, 0);
    constexpr const char* expected = "the same, as model ranks that cut each of them have";
    if (!deepspeed::lists_same_parameters(states, states_))
      throw Error(Kind::input, file.string(),
                  {"found other parameters in param_shapes, or in another order, than " + first, expected,
                   "give a whole layout (layouts/deepspeed-zero2.json shows how)"});
    if (states.optimizer != states_.optimizer)
      throw Error(
          Kind::input, file.string() + ": optimizer",
          {"found its parameters in another order than in " + first, expected, "give a whole layout, with \"files\""});
  }

  /// Adds a data rank's file for each model rank.
  void add(const std::string& file, std::uint64_t data_rank) {
    for (std::uint64_t rank = 0; rank < states_.model_ranks; ++rank) {
      const std::string name = files_.path(file, data_rank, rank);
      described_.files.push_back({name, name, {}});
    }
  }

  /// Works on several files at a time: each needs a child process to read its content.
  static void in_parallel(std::uint64_t count, const std::function<void(std::uint64_t)>& work) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    for_each_in_parallel(std::min(cores, most_at_once), count, work);
  }

  void read_files() {
    in_parallel(described_.files.size(), [&](std::uint64_t n) {
      DescribedFile& file = described_.files[n];
      file.catalog = store_.catalog(directory_ / file.path);
    });
  }

  void check_optimizer_files() const {
    const std::uint64_t expected =
        states_.groups.empty() ? 0 : checked_mul(states_.data_ranks, states_.model_ranks, "ranks");
    if (files_.optimizer_files == expected) return;
    const std::string model = files_.path(files_.model, 0).substr(files_.folder.size());
    const std::string ranks = std::to_string(expected) + " (dp_world_size " +
                              (module_ == nullptr ? "" : "and mp_world_size ") + "of " + model + ")";
    const bool are_too_many = expected > max_cards;
    if (expected > files_.optimizer_files && !are_too_many) refuse_missing(expected, ranks);
    throw Error(Kind::input, (directory_ / files_.folder).string(),
                {"found optimizer files of " + std::to_string(files_.optimizer_files) + " ranks",
                 (expected == 0 ? "none, as " + model + " lists no groups of parameters" : ranks),
                 are_too_many ? "is " + model + " damaged?" : "remove those of another job"});
  }

  [[noreturn]] void refuse_missing(std::uint64_t expected, const std::string& ranks) const {
    std::vector<std::string> missing;
    std::vector<std::string> names;
    for (std::uint64_t n = 0; n < expected && !files_.optimizer.empty(); ++n) {
      const std::string path = files_.path(files_.optimizer, n / states_.model_ranks, n % states_.model_ranks);
      std::error_code ignored;
      if (fs::exists(directory_ / path, ignored)) continue;
      missing.push_back(std::to_string(n / states_.model_ranks));
      names.push_back(path.substr(files_.folder.size()));
    }
    const std::string folder = (directory_ / files_.folder).string();
    const bool is_one = missing.size() == 1;
    const bool has_weights = !files_.model_of_each_rank && states_.model_ranks == 1;
    throw Error(Kind::input, folder,
                {missing.empty() ? "the optimizer files of all ranks are missing (*_optim_states.pt)"
                                 : (is_one ? "the optimizer file of rank " : "the optimizer files of ranks ") +
                                       join(missing) + (is_one ? " is" : " are") + " missing (" + join(names, 3) + ")",
                 "those of " + ranks,
                 std::string("copy ") + (is_one ? "it" : "them") + " into " + shell_word(folder) +
                     (has_weights ? ", or give the weights alone: " +
                                        shell_word((directory_ / files_.path(files_.model, 0)).string())
                                  : "")});
  }

  /// The tensors that DeepSpeed's zero_to_fp32 takes.
  std::map<std::string, std::string> masters() const {
    std::map<std::string, std::string> masters;
    const std::string before = files_.model_of_each_rank ? "" : std::string(deepspeed::master_word) + "/";
    for (const auto& group : states_.groups)
      for (const auto& weight : group) masters.emplace(weight.name, before + weight.name);
    for (const auto& tied : states_.tied) {
      const auto of = masters.find(tied.to);
      masters.insert_or_assign(tied.name, of == masters.end() ? tied.to : of->second);
    }
    return masters;
  }

  /// Reports tied weights: ZeRO-3 keeps only one of each set.
  void report_tied() const {
    if (!files_.model_of_each_rank || states_.tied.empty()) return;
    std::vector<std::string> names;
    for (const auto& each : states_.tied) names.push_back(each.name + " (" + each.to + ")");
    log::info("tied weights, which ZeRO-3 stores under one name of each set: {}; --master-weights writes all names",
              join(names));
  }

  fs::path directory_;
  SourceStore& store_;
  ModuleLayout* module_;
  TagFiles files_;
  ModelStates states_;
  DirectoryDescription described_;
};

}  // namespace

bool is_deepspeed(const fs::path& directory) {
  return deepspeed::has_tag(directory);
}

DirectoryDescription describe_deepspeed(const fs::path& directory, SourceStore& store) {
  return DeepSpeedDescription(directory, store, nullptr).describe();
}

DirectoryDescription describe_deepspeed_of(const fs::path& directory, const Layout& weights, SourceStore& store) {
  ModuleLayout module = deepspeed::module_layout(weights);
  return DeepSpeedDescription(directory, store, &module).describe();
}

}  // namespace ckpt
