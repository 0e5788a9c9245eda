#include "catch.hpp"
#include "diagnosis/equal_pieces_words.hpp"
#include "diagnosis/layout_with_copies.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

Mesh one_axis(std::uint64_t size) {
  Mesh mesh;
  mesh.axes = {"tp"};
  mesh.shape = {size};
  return mesh;
}

/// The copies along an axis whose cards hold these.
std::optional<AxisCopies> copies_of(const std::vector<int>& held) {
  std::vector<Position> cards;
  for (Position card = 0; card < held.size(); ++card) cards.push_back(card);
  return copies_along(one_axis(held.size()), 0, cards, [&](Position a, Position b) { return held[a] == held[b]; });
}

std::string nothing(const AxisCopies&, ParameterId, const std::set<std::uint64_t>&) {
  return "";
}

EqualPieces split_alike(ParameterId parameter, AxisCopies copies) {
  return {parameter, {parameter}, {copies.axis, {}}, copies};
}

/// Four layers of a matrix and a table, two on each of two stages.
Placement stages(const std::string& indices) {
  std::vector<Tensor> tensors;
  for (const char* name : {"w", "table"})
    for (int i = 0; i < 4; ++i) tensors.push_back(tensor("layers." + std::to_string(i) + "." + name, {4, 8}));
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  return target(layout(R"(["pp", "dp"])", "[2, 2]", R"("default": "replicate", "indices": [)" + indices + "]"),
                tensors);
}

}  // namespace

TEST_CASE("copies along an axis lie side by side, in a period, or in between") {
  using Copies = std::optional<AxisCopies>;
  CHECK(copies_of({5, 5, 5, 5}) == Copies({0, 1, 4}));
  CHECK(copies_of({1, 2, 1, 2}) == Copies({0, 2, 2}));
  CHECK(copies_of({1, 1, 2, 2}) == Copies({0, 1, 2}));
  CHECK(copies_of({1, 2, 1, 2, 3, 4, 3, 4}) == Copies({0, 2, 2}));
  CHECK(copies_of({1, 2, 1, 2, 1, 2, 1, 2}) == Copies({0, 2, 4}));
  CHECK(copies_of({1, 2, 3, 1, 2, 3}) == Copies({0, 3, 2}));
  CHECK_FALSE(copies_of({1, 2, 3, 4}));
  CHECK_FALSE(copies_of({1, 2, 2, 1}));
  CHECK_FALSE(copies_of({1, 2, 1, 3}));
  CHECK_FALSE(copies_of({1, 1, 2, 3}));
  CHECK_FALSE(copies_of({1}));
}

TEST_CASE("cards without a piece are no copies of others") {
  const auto hold_same = [](Position, Position) { return true; };
  CHECK(copies_along(one_axis(4), 0, {0, 1, 2, 3}, hold_same));
  CHECK_FALSE(copies_along(one_axis(4), 0, {0, 1, 2}, hold_same));
  CHECK(copies_along(one_axis(4), 0, {2, 3}, hold_same) == std::optional(AxisCopies{0, 1, 2}));
}

TEST_CASE("shards that are alike are told of together, with what to write instead") {
  std::vector<Tensor> tensors{tensor("norm", {8, 8})};
  for (int i = 0; i < 3; ++i) tensors.push_back(tensor("layers." + std::to_string(i) + ".w", {8, 8}));
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const Placement placement =
      target(one_rule(R"(["pp", "dp", "tp"])", "[2, 2, 2]", R"("split": [["tp", "dp"], "pp"])"), tensors);
  PieceFindings findings;
  for (const ParameterId layer : {0, 1, 2}) findings.equal.push_back(split_alike(layer, {0, 1, 2}));
  findings.equal.push_back(split_alike(3, {1, 1, 2}));
  CHECK(describe_equal_pieces(placement, findings, nothing) ==
        std::vector<std::string>{
            "a.json splits 3 parameters (layers.*.w: 3 parameters) over pp, but all cards along pp hold the same "
            "shard: if "
            "they are replicated, write {\"split\": [[\"tp\", \"dp\"], null]}",
            "a.json splits parameter 'norm' over dp, but all cards along dp hold the same shard: if it is replicated, "
            "write {\"split\": [\"tp\", \"pp\"]}"});
}

TEST_CASE("shards that occur several times along an axis ask for an axis of copies") {
  const Placement placement =
      target(one_rule(R"(["pp", "tp"])", "[2, 4]", R"("split": ["tp"])"), {tensor("a", {8, 8}), tensor("b", {8, 8})});
  PieceFindings findings{{split_alike(0, {1, 2, 2})}, {}};
  const auto write = [](const AxisCopies&, ParameterId, const std::set<std::uint64_t>&) { return std::string("MESH"); };
  const std::string what =
      "a.json splits parameter 'a' over tp, but every shard occurs 2 times along tp (card 2 holds what card 0 does): "
      "is "
      "an axis of 2 copies missing in the mesh";
  CHECK(describe_equal_pieces(placement, findings, write) == std::vector{what + "? It would fit with MESH"});
  CHECK(describe_equal_pieces(placement, findings, nothing) == std::vector{what + ", within tp?"});
  findings.distinct[{1, {}}] = 1;
  CHECK(describe_equal_pieces(placement, findings, write) ==
        std::vector{what + "? It would fit with MESH; what is not repeated, as 'b', is then split over both axes"});
}

TEST_CASE("layers that are the same on other stages are told of by their numbers") {
  const auto found = [](const Placement& placement, const SplitAxis& over, const AxisCopies& copies) {
    const auto layers = [&](const std::string& name) {
      return EqualPieces{0, {*placement.find("layers.0." + name), *placement.find("layers.2." + name)}, over, copies};
    };
    return PieceFindings{{layers("w")}, {}};
  };
  const Placement one = stages(R"({"in": "layers.{i}.*", "axis": "pp", "total": 4, "numbering": "local"})");
  PieceFindings findings = found(one, {0, 0}, {0, 1, 2});
  CHECK(describe_equal_pieces(one, findings, nothing) ==
        std::vector<std::string>{
            "a.json: /indices/0: \"layers.{i}.*\" counts over pp, but layers 2 hold the same bytes as "
            "0: does pp count nothing? Then leave this entry out"});
  SECTION("but not where others that are counted over that axis differ: layers may have tables in common") {
    findings.distinct[{0, 0}] = *one.find("layers.0.table");
    CHECK(describe_equal_pieces(one, findings, nothing).empty());
  }
  SECTION("of several axes the others stay") {
    const Placement two = stages(R"({"in": "layers.{i}.*", "axis": ["pp", "dp"], "total": 4, "numbering": "local"})");
    CHECK_THAT(describe_equal_pieces(two, found(two, {0, 0}, {0, 1, 2}), nothing).at(0),
               Contains(R"(Then write {"in": "layers.{i}.*", "axis": "dp", "total": 2, "numbering": "local"})"));
  }
}

TEST_CASE("a layout with an axis of copies is offered where it fits the files") {
  const CardArrays each = card({array("w", {2, 8}), array("norm", {8})});
  const auto offered = [&](const std::string& axes, const std::string& shape, const std::string& rest,
                           const AxisCopies& copies) {
    const Layout wrong =
        layout(axes, shape, R"("parameters": [{"name": "w", "split": ["tp"]}], "default": "replicate")" + rest);
    const auto files = cards(wrong.mesh.size(), each);
    const Placement placement = resolve_source(wrong, files).placement;
    return layout_with_copies(placement, files, copies, *placement.find("w"), {});
  };
  CHECK(offered(R"(["pp", "tp"])", "[2, 4]", "", {1, 2, 2}) ==
        R"("mesh": {"axes": ["pp", "dp", "tp"], "shape": [2, 2, 2]})");
  CHECK(offered(R"(["tp"])", "[8]", "", {0, 1, 2}) == R"("mesh": {"axes": ["tp", "dp"], "shape": [4, 2]})");
  CHECK(offered(R"(["dp", "tp"])", "[2, 4]", "", {1, 2, 2}) ==
        R"("mesh": {"axes": ["dp", "replicate", "tp"], "shape": [2, 2, 2]})");
  CHECK(offered(R"(["ep", "tp"])", "[1, 4]", "", {1, 1, 2}) == R"("mesh": {"axes": ["tp", "ep"], "shape": [2, 2]})");
  // An axis that would be cut in three keeps no name, and files that say the axis' coordinate cannot do with fewer.
  CHECK(offered(R"(["tp"])", "[8]", "", {0, 2, 2}).empty());
  CHECK(offered(R"(["tp"])", "[4]", R"(, "files": "tp{tp}.h5")", {0, 2, 2}).empty());
}
