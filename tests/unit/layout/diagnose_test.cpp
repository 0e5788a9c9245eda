#include "layout/placement/diagnose.hpp"

#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

CutSpec over(std::uint64_t count, Uneven uneven = Uneven::exact) {
  CutSpec spec;
  spec.axes = {0};
  spec.counts = {count};
  spec.uneven = uneven;
  return spec;
}

std::string of_shape(const Shape& found, const Shape& expected, const Shape& logical,
                     const std::vector<CutSpec>& dims) {
  return explain_shape(found, expected, logical, dims, {"tp"});
}

}  // namespace

TEST_CASE("extents that another way of cutting gives are explained by it") {
  CHECK_THAT(explain_piece_sizes({3, 3, 3, 1}, over(4)), Contains("\"uneven\": \"ceil\"") && Contains("10 elements"));
  CHECK_THAT(explain_piece_sizes({3, 3, 2, 2}, over(4)), Contains("\"uneven\": \"balanced\""));
  CHECK_THAT(explain_piece_sizes({3, 3, 2, 2}, over(4, Uneven::ceil)), Contains("\"uneven\": \"balanced\""));
  CHECK(explain_piece_sizes({3, 1, 4, 1}, over(4)).empty());
  CHECK(explain_piece_sizes({4096}, CutSpec{}).empty());  // of an odd card elsewhere, this explains nothing
  CHECK(explain_piece_sizes({5, 5}, over(2)).empty());
}

TEST_CASE("pieces that are larger than the layout's size are explained by padding") {
  CutSpec spec = over(4);
  spec.sizes = {3, 3, 3, 1};
  CHECK_THAT(explain_piece_sizes({3, 3, 3, 3}, spec), Contains("padded by 2"));
}

TEST_CASE("sizes of parts with another sum than what is stored are named") {
  CutSpec fused = over(4);
  fused.parts = Parts{0, {64, 32}, 0};
  CHECK(of_shape({32, 8}, {24, 8}, {96, 8}, {fused, CutSpec{}}) ==
        "the sizes of \"parts\" add up to 96 in dimension 0, and 4 pieces of 32 to 128");
}

TEST_CASE("a shape is explained by an axis of another size, a transposition, replication or padding") {
  CHECK_THAT(of_shape({512, 4096}, {1024, 4096}, {4096, 4096}, {over(4), CutSpec{}}),
             Contains("was it saved with tp=8?"));
  CHECK_THAT(of_shape({8, 2}, {2, 8}, {2, 8}, {CutSpec{}, CutSpec{}}), Contains("transposed"));
  CHECK_THAT(of_shape({12, 8}, {3, 8}, {12, 8}, {over(4), CutSpec{}}), Contains("replicated rather than split"));
  CHECK_THAT(of_shape({6, 4}, {6, 8}, {6, 8}, {CutSpec{}, CutSpec{}}), Contains("is dimension 1 split over 2 cards?"));
  CHECK_THAT(of_shape({4, 8}, {3, 8}, {9, 8}, {over(3), CutSpec{}}), Contains("dimension 0 padded by 1 on each card?"));
  CHECK(of_shape({2, 3, 4}, {6, 4}, {6, 4}, {CutSpec{}, CutSpec{}}).empty());
}
