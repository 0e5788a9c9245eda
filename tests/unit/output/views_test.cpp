#include "output/views.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "store/hdf5/hdf5_store.hpp"
#include "store/safetensors/safetensors_store.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// The files of a placement, as their metadata tells of them.
std::vector<std::optional<FileCatalog>> catalogs_of(const Placement& placement, Storage storage) {
  const ArrayFiles files(placement);
  std::vector<std::optional<FileCatalog>> catalogs;
  for (FileNumber file = 0; file < files.table().count(); ++file) {
    const Position card = files.table().owner(file);
    auto arrays = std::make_shared<std::vector<StoredArray>>();
    for (ArrayId array = 0; array < placement.arrays().size(); ++array)
      if (placement.holds(card, array))
        arrays->push_back({files.name(array), placement.arrays()[array].dtype, placement.stored_shape(array, card),
                           std::nullopt, false});
    std::sort(arrays->begin(), arrays->end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    auto schema = std::make_shared<Schema>();
    schema->format = "hdf5";
    schema->datasets.resize(arrays->size());
    for (Dataset& dataset : schema->datasets) dataset.storage = storage;
    schema->arrays = std::move(arrays);
    catalogs.push_back(FileCatalog{std::move(schema), 1000 + file, 0});
  }
  return catalogs;
}

/// Tensors on their way from one layout to another.
struct Plan {
  Plan(const Layout& from, const Layout& to, const std::vector<Tensor>& tensors, Storage storage = Storage::raw)
      : source(target(from, tensors)),
        wanted(target(to, tensors)),
        checkpoint(Checkpoint::of("/data/job", false, from, catalogs_of(source, storage))) {}

  /// What a file of the output shows.
  FileSpec shown(FileNumber file = 0, const std::filesystem::path& output = "/data/out", const Store& store = *hdf5) {
    FileSpec spec;
    for (ArrayId array = 0; array < wanted.arrays().size(); ++array)
      if (wanted.holds(file, array)) spec.arrays.push_back({wanted.arrays()[array].name, {}, {}, {}, {}, {}});
    return *Views(checkpoint, planner, store, output, wanted.mesh().size() == 1).shown(file, spec);
  }
  std::vector<View> views(FileNumber file = 0) { return shown(file).arrays.at(0).views; }

  static inline const std::unique_ptr<Store> hdf5 = hdf5_store();
  Placement source;
  Placement wanted;
  Checkpoint checkpoint;
  Readers readers{source, {}};
  Planner planner{source, wanted, {0, 1, 2}, readers};
};

Layout over_x(int cards, const std::string& keys) {
  return one_rule(R"(["x"])", "[" + std::to_string(cards) + "]", keys);
}

Hyperslab box(const Shape& shape, const Box& part) {
  Hyperslab made{shape, {}};
  for (std::size_t d = 0; d < shape.size(); ++d) made.stripes.push_back({part.lo[d], 1, 1, part[d].size()});
  return made;
}

}  // namespace

TEST_CASE("a shard of columns is shown as one rectangle") {
  Plan plan(over_x(4, R"("split": [null, "x"])"), single_card(), {tensor("w", {6, 8})});
  const FileSpec shown = plan.shown(0, "/data/seen/out.h5");
  const std::vector<View>& views = shown.arrays.at(0).views;
  REQUIRE(views.size() == 4);
  for (std::uint32_t card = 0; card < 4; ++card) {
    CHECK(views[card] == View{card, "w", whole_hyperslab({6, 2}), box({6, 8}, {{0, 2 * card}, {6, 2 * card + 2}})});
    CHECK(shown.viewed[card] == ViewedFile{"../job/rank_" + std::to_string(card) + ".h5", 1000 + card});
  }
}

TEST_CASE("the files that one shows are named from its own directory") {
  Plan plan(over_x(2, R"("split": ["x"])"), over_x(4, R"("split": ["x"])"), {tensor("w", {8, 3})});
  const FileSpec shown = plan.shown(3, "/data/a/../b/out/");
  REQUIRE(shown.viewed.size() == 1);
  CHECK(shown.viewed[0].path == "../../job/rank_1.h5");
  CHECK(shown.arrays.at(0).views ==
        std::vector<View>{{0, "w", box({4, 3}, {{2, 0}, {4, 3}}), whole_hyperslab({2, 3})}});
}

TEST_CASE("what lies flat is shown in as many pieces as it has rectangles") {
  SECTION("rows that are cut in the middle") {
    Plan plan(over_x(3, R"("flat": {"axis": "x"})"), single_card(), {tensor("w", {5, 6})});
    const auto views = plan.views();
    REQUIRE(views.size() == 7);
    CHECK(views[1] == View{0, "w", box({10}, {{6}, {10}}), box({5, 6}, {{1, 0}, {2, 4}})});
    CHECK(views[2] == View{1, "w", box({10}, {{0}, {2}}), box({5, 6}, {{1, 4}, {2, 6}})});
  }
  SECTION("columns of what is flat: one each so many elements") {
    Plan plan(over_x(1, R"("flat": {"axis": "x"})"), over_x(2, R"("split": [null, "x"])"), {tensor("w", {5, 6})});
    CHECK(plan.views(1) == std::vector<View>{{0, "w", {{30}, {{3, 6, 5, 3}}}, whole_hyperslab({5, 3})}});
  }
  SECTION("nested strides: one for each index of the outermost dimension") {
    Plan plan(over_x(1, R"("flat": {"axis": "x"})"),
              layout(R"(["x", "y"])", "[2, 2]", R"("parameters": [{"name": "w", "split": [null, "x", "y"]}])"),
              {tensor("w", {3, 4, 6})});
    const auto views = plan.views(0);
    REQUIRE(views.size() == 3);
    CHECK(views[1] == View{0, "w", {{72}, {{24, 6, 2, 3}}}, box({3, 2, 3}, {{1, 0, 0}, {2, 2, 3}})});
  }
  SECTION("flat on both sides: one run from each card") {
    Plan plan(over_x(4, R"("flat": {"axis": "x"})"), over_x(2, R"("flat": {"axis": "x"})"), {tensor("w", {4, 7})});
    CHECK(plan.views(1) == std::vector<View>{{0, "w", whole_hyperslab({7}), box({14}, {{0}, {7}})},
                                             {1, "w", whole_hyperslab({7}), box({14}, {{7}, {14}})}});
  }
}

TEST_CASE("parts are shown part by part, and padding is shown by none") {
  Plan parts(over_x(2, R"("split": ["x"], "parts": {"dim": 0, "count": 2})"), single_card(), {tensor("w", {8, 3})});
  CHECK(parts.views().size() == 4);
  Plan padded(single_card(), over_x(2, R"("split": ["x"], "pad": {"0": {"size": 5, "multiple_of": 4}})"),
              {tensor("w", {5})});
  CHECK(padded.views(1) == std::vector<View>{{0, "w", box({5}, {{4}, {5}}), box({4}, {{0}, {1}})}});
}

TEST_CASE("what no view can be is refused, and says why") {
  const std::vector<Tensor> tensors{tensor("w", {6, 8})};
  SECTION("another order of its dimensions") {
    Plan plan(single_card(), over_x(2, R"("split": ["x"], "permute": [1, 0])"), tensors);
    CHECK_THAT(refused([&] { plan.shown(); }, Kind::usage), Contains("parameter 'w'") && Contains("\"permute\""));
  }
  SECTION("but the same on both sides can be shown") {
    Plan plan(over_x(3, R"("split": ["x"], "permute": [1, 0])"), over_x(2, R"("split": ["x"], "permute": [1, 0])"),
              tensors);
    CHECK(plan.views(0).at(0) == View{0, "w", whole_hyperslab({8, 2}), box({8, 3}, {{0, 0}, {8, 2}})});
  }
  SECTION("another dtype") {
    Plan plan(single_card(), single_card(), tensors);
    plan.wanted = target(single_card(), {tensor("w", {6, 8}, *number_type("f64"))});
    CHECK_THAT(refused([&] { plan.shown(); }, Kind::usage), Contains("cast from f32 to f64"));
  }
  SECTION("a view") {
    Plan plan(single_card(), single_card(), tensors, Storage::views);
    CHECK_THAT(refused([&] { plan.shown(); }, Kind::usage), Contains("only shows it, too"));
  }
  SECTION("another format") {
    Plan plan(single_card(), single_card(), tensors);
    CHECK_THAT(refused([&] { plan.shown(0, "/data/out", *safetensors_store()); }, Kind::usage),
               Contains("format safetensors") && Contains("hdf5"));
  }
  SECTION("very many pieces") {
    Plan plan(over_x(1, R"("flat": {"axis": "x"})"),
              layout(R"(["x", "y"])", "[2, 2]", R"("parameters": [{"name": "w", "split": [null, "x", "y"]}])"),
              {tensor("w", {70000, 4, 4})});
    CHECK_THAT(refused([&] { plan.shown(); }, Kind::usage), Contains("more than 65536 pieces"));
  }
}
