#include "frameworks/rank_files.hpp"

#include "catch.hpp"
#include "frameworks/flat_parameters.hpp"
#include "frameworks/rank_families.hpp"
#include "refused.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

struct Array {
  std::string name;
  Shape shape;
  std::optional<Shape> global_shape;
  std::optional<Piece> piece;
};

FileCatalog catalog(const std::vector<Array>& arrays, std::vector<Attribute> attributes = {}) {
  Schema schema;
  schema.format = "torch";
  std::vector<StoredArray> stored;
  for (const Array& array : arrays) {
    stored.push_back({array.name, *number_type("f32"), array.shape, array.global_shape, false});
    schema.datasets.emplace_back();
    schema.datasets.back().piece = array.piece;
  }
  schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(stored));
  schema.attributes = std::move(attributes);
  return {std::make_shared<const Schema>(std::move(schema)), 100, 0};
}

/// Of a mesh of dp=2, tp=2.
Piece piece(std::uint64_t dp, std::uint64_t tp, std::vector<std::vector<std::uint64_t>> split,
            std::uint64_t split_factor = 0) {
  return {{}, {{"dp", dp + 1, dp, split_factor}, {"tp", tp + 1, tp, 0}}, std::move(split)};
}

std::vector<std::string> names_of(const std::string& kind) {
  std::vector<std::string> names;
  for (int rank = 0; rank < 4; ++rank) names.push_back(kind + "_world_size_4_rank_" + std::to_string(rank) + ".pt");
  return names;
}

std::vector<FileCatalog> cut_over_both(std::uint64_t split_factor = 2) {
  std::vector<FileCatalog> catalogs;
  for (std::uint64_t rank = 0; rank < 4; ++rank)
    catalogs.push_back(catalog(
        {{"b", {6}, {}, {}}, {"w", {2, 3}, Shape{8, 3}, piece(rank / 2, rank % 2, {{1, 0}, {}}, split_factor)}}));
  return catalogs;
}

}  // namespace

TEST_CASE("files of ranks are told by the number that varies") {
  const auto families =
      rank_families({"model_world_size_8_rank_10.pt", "model_world_size_8_rank_9.pt", "config.pt",
                     "shard-00001-model-00001-of-00001.safetensors", "shard-00002-model-00001-of-00001.safetensors"});
  REQUIRE(families.size() == 2);
  CHECK(families[0].label == "model");
  CHECK(families[0].before == "model_world_size_8_rank_");
  REQUIRE(families[0].files.size() == 2);
  CHECK(families[0].files[0].rank == 9);
  CHECK(families[0].files[0].file == 1);
  CHECK(families[1].label == "shard");
  CHECK_THAT(refused([] { rank_families({"a_2_rank_0.pt", "a_4_rank_1.pt"}); }), Contains("several numbers"));
}

TEST_CASE("DTensors say the mesh and how they are cut over it") {
  const auto described = describe_rank_files(names_of("model"), cut_over_both(), "src");
  REQUIRE(described);
  const std::string text = to_json(described->layout);
  CHECK_THAT(text, Contains(R"("axes": ["dp", "tp"], "shape": [2, 2])") &&
                       Contains(R"("files": "model_world_size_4_rank_{card}.pt")") &&
                       Contains(R"({"name": "w", "split": [["tp", "dp"]], "uneven": "ceil"})") &&
                       Contains(R"({"name": "b"})"));
  // On other cards they hold no DTensors, and are not called as such files are.
  CHECK_THAT(to_json(described->elsewhere),
             Contains(R"("files": "model_card_{card}.pt")") &&
                 Contains(R"({"name": "w", "split": [["tp", "dp"]], "uneven": "ceil"})"));
}

TEST_CASE(
    "a stride that is not that of the mesh's other axes is refused, and one alone is the parts of a fused dimension") {
  CHECK_THAT(refused([] { describe_rank_files(names_of("model"), cut_over_both(3), "src"); }),
             Contains("strides of 3 chunks"));
  std::vector<FileCatalog> catalogs;
  for (std::uint64_t rank = 0; rank < 4; ++rank)
    catalogs.push_back(catalog({{"w", {6}, Shape{12}, piece(rank / 2, rank % 2, {{0}}, 3)}}));
  CHECK_THAT(to_json(describe_rank_files(names_of("model"), catalogs, "src")->layout),
             Contains(R"("split": ["dp"], "uneven": "ceil", "parts": {"dim": 0, "count": 3})"));
}

TEST_CASE("files of several kinds have their kind before their names, and what says no piece is each rank's own") {
  auto names = names_of("model");
  auto catalogs = cut_over_both();
  for (const std::string& name : names_of("extra_state")) {
    names.push_back(name);
    catalogs.push_back(catalog({{"rng", {16}, {}, {}}}));
  }
  const std::string text = to_json(describe_rank_files(names, catalogs, "src")->layout);
  CHECK_THAT(text, Contains(R"({"path": "model_world_size_4_rank_{card}.pt", "prefix": "model/"})") &&
                       Contains(R"({"name": "model/w", "split")") &&
                       Contains(R"({"name": "extra_state/rng", "replicas": "first"})"));
}

TEST_CASE("pieces with corners become splits or boxes") {
  std::vector<FileCatalog> catalogs;
  std::vector<std::string> names;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    names.push_back("model_" + std::to_string(rank) + ".pt");
    const std::uint64_t rows = rank < 2 ? 2 : 1;
    catalogs.push_back(catalog({{"w", {rows, 3}, Shape{5, 3}, Piece{{2 * rank, 0}, {}, {}}}}));
  }
  CHECK_THAT(to_json(describe_rank_files(names, catalogs, "src")->layout),
             Contains(R"({"name": "w", "split": ["card"], "uneven": "ceil"})"));
  catalogs.pop_back();
  names.pop_back();
  CHECK_THAT(refused([&] { describe_rank_files(names, catalogs, "src"); }), Contains("/w"));
}

TEST_CASE("corners may stand in an attribute of safetensors") {
  std::vector<FileCatalog> catalogs;
  for (const char* const offset : {"0", "3"})
    catalogs.push_back(
        catalog({{"w", {3}, {}, {}}},
                {{"DCP_SHARDING_INFO", text_value(std::string(R"({"w": {"saved_offsets": [)") + offset + "]}}")}}));
  CHECK_THAT(to_json(describe_rank_files({"a-1.safetensors", "a-2.safetensors"}, catalogs, "src")->layout),
             Contains(R"({"name": "w", "split": ["card"], "uneven": "ceil"})"));
}

TEST_CASE("files that say corners may be several of a rank, and are told by what they say") {
  const auto shard = [](const char* name, const std::string& said) {
    return catalog({{name, {3}, {}, {}}}, {{"DCP_SHARDING_INFO", text_value(said)}});
  };
  const std::vector<std::string> names{"x-1-of-2", "x-2-of-2", "y-1-of-2", "y-2-of-2"};
  std::vector<FileCatalog> catalogs{shard("v", R"({"v": {"saved_offsets": [0]}})"),
                                    shard("w", R"({"w": {"saved_offsets": [0], "global_shape": [6]}})"),
                                    shard("v", R"({"v": {"saved_offsets": [3]}})"),
                                    shard("w", R"({"w": {"saved_offsets": [3], "global_shape": [6]}})")};
  const auto described = describe_rank_files(names, catalogs, "src");
  REQUIRE(described);
  CHECK_THAT(to_json(described->layout), Contains(R"("boxes")") && Contains("x-2-of-2"));
  catalogs.back() = shard("w", R"({"w": {"saved_offsets": [3], "global_shape": [9]}})");
  CHECK_THAT(refused([&] { describe_rank_files(names, catalogs, "src"); }), Contains("as other files say"));
  catalogs.back() = shard("w", R"({"w": {"saved_offsets": [5], "global_shape": [6]}})");
  CHECK_THAT(refused([&] { describe_rank_files(names, catalogs, "src"); }), Contains("one that holds the piece"));
  catalogs.pop_back();
  CHECK_THAT(refused([&] { describe_rank_files({"a", "b", "c"}, catalogs, "src"); }), Contains("/w"));
}

TEST_CASE("a flat parameter without its members is refused by name") {
  const auto arrays_on_card = [](const char* name) { return std::vector{catalog({{name, {3}, {}, {}}})}; };
  for (const char* const name : {"_flat_param", "0._flat_param", "m._fsdp_wrapped_module.flat_param", "flat_param_0"})
    CHECK(flat_parameters_alone({"rank0.pt"}, arrays_on_card(name), "src"));
  for (const char* const name : {"flat_parameters", "flat_param_x", "my_flat_param.weight", "flat"})
    CHECK_FALSE(flat_parameters_alone({"rank0.pt"}, arrays_on_card(name), "src"));
  const auto error = flat_parameters_alone({"rank0.pt"}, arrays_on_card("0._flat_param"), "src");
  CHECK_THAT(std::string(error->what()), Contains("src: rank0.pt") && Contains("0._flat_param"));
}

TEST_CASE("ranks that do not fill their mesh are refused, and files that say no piece are none of ours") {
  auto catalogs = cut_over_both();
  auto names = names_of("model");
  catalogs.pop_back();
  names.pop_back();
  CHECK_THAT(refused([&] { describe_rank_files(names, catalogs, "src"); }),
             Contains("3 of them") && Contains("dp=2, tp=2"));
  CHECK_FALSE(
      describe_rank_files({"a_0.pt", "a_1.pt"}, {catalog({{"w", {3}, {}, {}}}), catalog({{"w", {3}, {}, {}}})}, "src"));
}
