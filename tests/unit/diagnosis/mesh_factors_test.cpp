#include "diagnosis/draft/mesh_factors.hpp"

#include "catch.hpp"
#include "diagnosis/draft/facts.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

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

TEST_CASE("what only some cards hold tells the mesh, too") {
  constexpr std::uint32_t no = holds_nothing;
  // An embedding on the first of two stages, split over tp, and a norm on each: pp=2, dp=2, tp=2.
  const Classes embedding{0, 1, 0, 1, no, no, no, no};
  const Classes weight{0, 1, 0, 1, 2, 3, 2, 3};
  CHECK(mesh_of_classes({embedding, weight}).value().shape == Sizes{2, 2, 2});
  // Four stages of two copies each, of names of their own.
  const Classes first{0, 0, no, no, no, no, no, no};
  const Classes second{no, no, 0, 0, no, no, no, no};
  const Classes third{no, no, no, no, 0, 0, no, no};
  CHECK(mesh_of_classes({first, second, third}).value().shape == Sizes{4, 2});
  CHECK_FALSE(mesh_of_classes({{0, no, no, no}, {no, 0, no, no}}));            // one axis says that in as few words
  CHECK_FALSE(mesh_of_classes({{0, no, no, 1, no, no}, {0, 0, 0, 1, 1, 0}}));  // nothing explains it
}

TEST_CASE("where a name is stored is said by coordinates, or by none") {
  const StoredArray array{"w", *number_type("f32"), {4}, std::nullopt, false};
  const Mesh mesh{{"pp", "tp"}, {3, 2}, {}};
  std::vector<drafting::Piece> pieces(6);
  for (const std::size_t card : {0, 1, 4, 5}) pieces[card] = {&array, card % 2};
  const auto ends = location_of(mesh, classes_of(pieces));
  REQUIRE(ends);
  CHECK(ends->at == At{{0, {0, 2}}});
  CHECK(ends->at_last == At{{0, {0}}});
  CHECK(differing_axes(mesh, classes_of(pieces)) == std::vector<Axis>{1});
  pieces[5] = {};
  CHECK_FALSE(location_of(mesh, classes_of(pieces)));
}
