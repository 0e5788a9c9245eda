#include "layout/language/layout_changes.hpp"

#include <algorithm>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

std::vector<std::string> words(const std::vector<LayoutChange>& changes) {
  std::vector<std::string> all;
  for (const LayoutChange& change : changes) all.push_back(change.what);
  return all;
}

bool has(const std::vector<LayoutChange>& changes, const std::string& what) {
  const auto all = words(changes);
  return std::count(all.begin(), all.end(), what) == 1;
}

}  // namespace

TEST_CASE("another mesh has its axes in another order, with their sizes or without") {
  const Layout of = layout(R"(["pp", "tp"])", "[4, 2]", R"("parameters": [{"name": "*", "split": ["tp"]}])");
  const auto changes = other_meshes(of);
  CHECK(words(changes) == std::vector<std::string>{R"("mesh": {"axes": ["tp", "pp"], "shape": [2, 4]})",
                                                   R"("mesh": {"axes": ["tp", "pp"], "shape": [4, 2]})"});
  // Rules speak of axes by their names, whatever place these have.
  CHECK(changes[0].layout.mesh.shape == std::vector<std::uint64_t>{2, 4});
  CHECK(changes[0].layout.parameters[0].keys.split->front() == std::vector<Axis>{0});
  CHECK(other_meshes(layout(R"(["tp"])", "[4]", R"("default": "replicate")")).empty());
}

TEST_CASE("a mesh that the layout's own counts do not go with is none") {
  const Layout of = layout(R"(["pp", "tp"])", "[3, 2]",
                           R"("default": "replicate",
                              "indices": [{"in": "l.{i}.*", "axis": "pp", "counts": [1, 2, 1], "numbering": "local"}])");
  CHECK(words(other_meshes(of)) == std::vector<std::string>{R"("mesh": {"axes": ["tp", "pp"], "shape": [2, 3]})"});
}

TEST_CASE("numbers that stand alone can be counted, behind the words before them") {
  CHECK(counter_patterns({"layers.0.experts.1.w", "h2o.w"}) ==
        std::vector<std::string>{"*experts.{i}.*", "layers.{i}.*"});
  CHECK(counter_patterns({"layers.0.w", "m.layers.0.w", "w.3"}) == std::vector<std::string>{"*layers.{i}.*", "w.{i}"});
  const Layout of = layout(R"(["pp", "tp"])", "[2, 1]", R"("default": "replicate")");
  CHECK(words(more_counts(of, {"layers.0.w"})) ==
        std::vector<std::string>{R"("indices" with {"in": "layers.{i}.*", "axis": "pp", "numbering": "local"})"});
  CHECK(more_counts(of, {"w"}).empty());
}

TEST_CASE("two numbers can be counted over two axes") {
  const Layout of = layout(R"(["pp", "ep"])", "[2, 2]", R"("default": "replicate")");
  CHECK(has(more_counts(of, {"layers.0.experts.1.w"}),
            R"("indices" with {"in": "*experts.{i}.*", "axis": "ep", "numbering": "local"} and )"
            R"({"in": "layers.{i}.*", "axis": "pp", "numbering": "local"})"));
}

TEST_CASE("an entry of indices can count over another axis, otherwise, and as far as the names tell") {
  const Layout of = layout(
      R"(["pp", "tp"])", "[2, 2]",
      R"("default": "replicate", "indices": [{"in": "l.{i}.*", "axis": "pp", "total": 4, "numbering": "local"}])");
  const auto changes = other_counts(of);
  CHECK(words(changes) == std::vector<std::string>{R"("axis": "tp" in /indices/0)",
                                                   R"("numbering": "global" in /indices/0)",
                                                   R"(leaving out "total" in /indices/0)"});
  CHECK(changes[0].layout.indices[0].axes == std::vector<Axis>{1});
  CHECK(changes[1].layout.indices[0].numbering == Numbering::global);
  CHECK_FALSE(changes[2].layout.indices[0].total);
}

TEST_CASE("a rule can split over as many axes elsewhere, and one that does not split over one") {
  const Layout of =
      layout(R"(["dp", "tp"])", "[2, 2]", R"("parameters": [{"name": "a", "split": [["dp", "tp"]]}, {"name": "b"}])");
  CHECK(has(other_splits(of, 0), R"({"split": [["tp", "dp"]]} in rule "a")"));
  CHECK(has(other_splits(of, 0), R"({"split": ["tp", "dp"]} in rule "a")"));
  CHECK_FALSE(has(other_splits(of, 0), R"({"split": [["dp", "tp"]]} in rule "a")"));
  CHECK(has(other_splits(of, 1), R"({"split": [null, "tp"]} in rule "b")"));
}
