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
using deepspeed::TagFiles;

constexpr unsigned most_at_once = 8;

class DeepSpeedDescription {
 public:
  DeepSpeedDescription(const fs::path& directory, SourceStore& store)
      : directory_(directory), store_(store), files_(deepspeed::find_tag(directory)) {}

  Described describe() {
    if (!files_.folder.empty()) spdlog::info("{} names {}", deepspeed::latest_file, files_.tag);
    const fs::path model = directory_ / files_.path(files_.model, 0);
    states_ = deepspeed::read_model_states(model);
    check_optimizer_files();
    const std::size_t models = files_.model_of_each_rank ? states_.data_ranks : 1;
    for (std::uint64_t rank = 0; rank < models; ++rank) add(files_.path(files_.model, rank));
    if (!files_.optimizer.empty())
      for (std::uint64_t rank = 0; rank < states_.data_ranks; ++rank) add(files_.path(files_.optimizer, rank));
    read_files();
    deepspeed::TagSchemas schemas{described_.files.front().catalog.schema.get(), {}};
    for (std::size_t i = models; i < described_.files.size(); ++i)
      schemas.optimizers.push_back(described_.files[i].catalog.schema.get());
    const std::string text = with_file((directory_ / files_.path(files_.optimizer, 0)).string(),
                                       [&] { return deepspeed::zero_layout(files_, states_, schemas); });
    described_.layout = parse_layout(text, "what " + directory_.string() + " says of itself");
    described_.elsewhere = described_.layout;
    described_.elsewhere.files = deepspeed::zero_files(files_, files_.tag + "/", described_.layout.mesh);
    tell_tied();
    return std::move(described_);
  }

 private:
  void add(const std::string& name) { described_.files.push_back({name, name, {}}); }

  /// Several at a time: each takes a child process, which reads what is in it.
  void read_files() {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    for_each_in_parallel(std::min(cores, most_at_once), described_.files.size(), [&](std::uint64_t n) {
      DescribedFile& file = described_.files[n];
      file.catalog = store_.catalog(directory_ / file.path);
    });
  }

  void check_optimizer_files() const {
    const std::uint64_t expected = states_.groups.empty() ? 0 : states_.data_ranks;
    if (files_.optimizer_ranks == expected) return;
    const std::string ranks = std::to_string(states_.data_ranks) + " (dp_world_size of " + files_.model + ")";
    throw Error(
        Kind::input, (directory_ / files_.folder).string(),
        {"found optimizer files of " + std::to_string(files_.optimizer_ranks) + " ranks",
         "expected " + (expected == 0 ? "none, as " + files_.model + " lists no groups of parameters" : ranks),
         files_.optimizer_ranks < expected ? "restore the others; the model states alone can be read as a single file"
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
  TagFiles files_;
  ModelStates states_;
  Described described_;
};

}  // namespace

bool is_deepspeed(const fs::path& directory) {
  return deepspeed::has_tag(directory);
}

Described describe_deepspeed(const fs::path& directory, SourceStore& store) {
  return DeepSpeedDescription(directory, store).describe();
}

}  // namespace ckpt
