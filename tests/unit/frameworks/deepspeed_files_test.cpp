#include "frameworks/deepspeed_files.hpp"

#include <fstream>

#include "catch.hpp"
#include "refused.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::deepspeed;
using Catch::Matchers::Contains;
using ckpt::fixture::refused;
using ckpt::fixture::TemporaryDirectory;

namespace {

const std::string optimizer = "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";

void touch(const std::filesystem::path& path, const std::string& text = "") {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("DeepSpeed's file names say whose a file is") {
  const auto third = parse_file_name("bf16_zero_pp_rank_3_mp_rank_01_optim_states.pt");
  REQUIRE(third);
  CHECK(third->is_optimizer);
  CHECK(third->precision == "bf16_");
  CHECK(third->data_rank == 3);
  CHECK(third->model_rank == 1);
  CHECK(parse_file_name("zero_pp_rank_12_mp_rank_00_model_states.pt")->data_rank == 12);
  CHECK_FALSE(parse_file_name("mp_rank_00_model_states.pt")->data_rank);
  for (const char* name : {"mp_rank_00_optim_states.pt", "bf16_mp_rank_00_model_states.pt",
                           "mp_rank_00_model_states.h5", "layer_00-model_00-model_states.pt", "latest"})
    CHECK_FALSE(parse_file_name(name));
}

TEST_CASE("a tag is found by itself, and by what names it") {
  const TemporaryDirectory place;
  const auto run = place / "run";
  touch(run / "global_step2" / "mp_rank_00_model_states.pt");
  touch(run / "global_step2" / optimizer);
  CHECK_FALSE(has_tag(run));
  touch(run / "latest", "global_step2");
  CHECK(has_tag(run));
  const TagFiles below = find_tag(run);
  CHECK(below.folder == "global_step2/");
  CHECK(below.path(below.optimizer, 7) == "global_step2/bf16_zero_pp_rank_7_mp_rank_00_optim_states.pt");
  CHECK(below.path(below.model, 7) == "global_step2/mp_rank_00_model_states.pt");
  CHECK(below.optimizer_files == 1);
  CHECK_FALSE(below.model_of_each_rank);
  for (const auto& directory : {run / "global_step2", run / "global_step2" / "", run / "global_step2" / "."}) {
    const TagFiles alone = find_tag(directory);
    CHECK(alone.folder.empty());
    CHECK(alone.tag == "global_step2");
  }
  touch(run / "global_step3" / "zero_pp_rank_0_mp_rank_00_model_states.pt");
  CHECK(find_tag(run / "global_step3").model == "zero_pp_rank_{dp}_mp_rank_00_model_states.pt");
  for (const char* text : {"../run/global_step2", "..", "two words", ""}) {
    touch(run / "latest", text);
    CHECK_FALSE(has_tag(run));
  }
}

TEST_CASE("the files of several model ranks are found where their axis has a name") {
  const TemporaryDirectory place;
  for (const char* name : {"mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt",
                           "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_0_mp_rank_01_optim_states.pt"})
    touch(place / "global_step2" / name);
  const TagFiles files = find_tag(place / "global_step2", "tp");
  CHECK(files.model_ranks == 2);
  CHECK(files.optimizer_files == 2);
  CHECK(files.model == "mp_rank_{tp:02}_model_states.pt");
  CHECK(files.optimizer == "zero_pp_rank_{dp}_mp_rank_{tp:02}_optim_states.pt");
  CHECK(files.path(files.optimizer, 3, 12) == "zero_pp_rank_3_mp_rank_12_optim_states.pt");
}

TEST_CASE("a tag that would be a template is refused, with the way to another") {
  const TemporaryDirectory place;
  const auto run = place / "run";
  touch(run / "step_{dp}" / "mp_rank_00_model_states.pt");
  touch(run / "latest", "step_{dp}");
  CHECK_THAT(refused([&] { find_tag(run); }), Contains("the tag \"step_{dp}\"") && Contains("in latest"));
  CHECK_THAT(refused([&] { find_tag(run / "step_{dp}"); }), Contains("rename its folder") && !Contains("in latest"));
}

TEST_CASE("what DeepSpeed does not say is refused by its file's name") {
  const auto with = [](const std::string& name) {
    const TemporaryDirectory place;
    touch(place / "mp_rank_00_model_states.pt");
    touch(place / optimizer);
    touch(place / name);
    return refused([&] { find_tag(place / ""); });
  };
  CHECK_THAT(with("mp_rank_01_model_states.pt"),
             Contains("mp_rank_01_model_states.pt: found a file of a second model"));
  CHECK_THAT(with("layer_1_expert_0_mp_rank_00_model_states.pt"), Contains("found experts"));
  CHECK_THAT(with("expp_rank_0_mp_rank_00_optim_states.pt"), Contains("found experts"));
  CHECK_THAT(with("layer_03-model_00-model_states.pt"), Contains("found the layers of a pipeline"));
  CHECK_THAT(with("zero/x"), Contains("found a universal checkpoint"));
  CHECK_THAT(with("zero_pp_rank_1_mp_rank_00_optim_states.pt"),
             Contains("found optimizer files of several precisions"));
  CHECK(with("zero_to_fp32.py").empty());
}
