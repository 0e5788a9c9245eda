#include "exchange/request.hpp"

#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

Transfer transfer(Position card, ArrayId array, const Region& source, const Shape& target_strides,
                  std::uint64_t element) {
  return {card, array, array + 1, element, source, 99, target_strides};
}

const Region row{Box{{5}, {105}}, 1ULL << 50, {1}};
const Region box{Box{{1, 0}, {4, 5}}, 12, {10, 1}};

}  // namespace

TEST_CASE("what is asked for is what is read, packed one after the other with the sums") {
  RequestWriter request;
  request.add(transfer(1ULL << 40, 7, row, {1}, 4));
  request.add(transfer(3, 4000000000, box, {1, 3}, 2));  // transposed by the target
  const auto found = read_request(request.take());
  REQUIRE(found.size() == 2);
  CHECK(found[0].card == 1ULL << 40);
  CHECK(found[0].array == 7);
  CHECK(found[0].parameter == 8);
  CHECK(found[0].source.box == row.box);
  CHECK(found[0].source.offset == 1ULL << 50);
  CHECK(found[0].target_offset == 0);
  CHECK(found[0].bytes() == 400);
  CHECK(found[1].array == 4000000000);
  CHECK(found[1].source.strides == Shape{10, 1});
  CHECK(found[1].target_offset == 432);  // 400 and a sum, up to the next boundary of 16
  CHECK(found[1].bytes() == 30);
  CHECK(found[1].target_strides == Shape{5, 1});
}

TEST_CASE("an empty request asks for nothing") {
  CHECK(read_request(RequestWriter().take()).empty());
}

TEST_CASE("a request that makes no sense is refused") {
  RequestWriter request;
  request.add(transfer(1, 2, box, {5, 1}, 2));
  const std::string bytes = request.take();
  for (std::size_t size = 1; size < bytes.size(); ++size) CHECK_THROWS_AS(read_request(bytes.substr(0, size)), Error);
  std::string deep = bytes;
  deep[3 * 8 + 3 * 4 + 1] = 33;  // the rank of its box
  CHECK_THROWS_WITH(read_request(deep), Contains("a request for data is damaged"));
}
