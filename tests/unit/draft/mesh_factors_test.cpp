#include "draft/mesh_factors.hpp"

#include "catch.hpp"
#include "draft/facts.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

using Classes = std::vector<std::uint32_t>;
using Sizes = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a mesh is told from which cards are equal") {
  const Classes by_row{0, 0, 0, 1, 1, 1};
  const Classes by_column{0, 1, 2, 0, 1, 2};
  const Classes different{0, 1, 2, 3, 4, 5};
  CHECK(mesh_of_classes({by_row, different}).value().shape == Sizes{2, 3});
  CHECK(mesh_of_classes({by_column}).value().shape == Sizes{2, 3});
  CHECK(mesh_of_classes({by_row, by_column}).value().axes == std::vector<std::string>{"a0", "a1"});
  CHECK_FALSE(mesh_of_classes({different, {0, 0, 0, 0, 0, 0}}));  // one axis explains it
  CHECK_FALSE(mesh_of_classes({by_row, {0, 0, 1, 1, 2, 2}}));     // nothing does
  CHECK(mesh_of_classes({{0, 1, 0, 1, 2, 3, 2, 3}}).value().shape == Sizes{2, 2, 2});
}

TEST_CASE("where a name is stored is said by coordinates, or by none") {
  const StoredArray array{"w", *number_type("f32"), {4}, std::nullopt, false};
  const Mesh mesh{{"pp", "tp"}, {3, 2}, {}};
  std::vector<Piece> pieces(6);
  for (const std::size_t card : {0, 1, 4, 5}) pieces[card] = {&array, card % 2};
  const auto ends = presence_of(mesh, pieces);
  REQUIRE(ends);
  CHECK(ends->at == At{{0, {0, 2}}});
  CHECK(ends->at_last == At{{0, {0}}});
  CHECK(differing_axes(mesh, pieces) == std::vector<Axis>{1});
  pieces[5] = {};
  CHECK_FALSE(presence_of(mesh, pieces));
}
