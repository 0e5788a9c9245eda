#include "compare/mismatch.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "base/wire.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

/// [[1, 2, 3], [4, 5, 6]] of f32, and the same with changes, stored transposed.
struct Pair {
  std::array<float, 6> a{1, 4, 2, 5, 3, 6};
  std::array<float, 6> b = a;
  Region region{whole({2, 3}), 0, {1, 2}, false};
  Tensor tensor{"w", *number_type("f32"), {2, 3}, false};

  Mismatch compare(const std::optional<Tolerance>& tolerance = {}) const {
    Mismatch found;
    TensorComparison(tensor, tensor, {tolerance})
        .compare(region, 5, reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data()),
                 found);
    return found;
  }
};

}  // namespace

TEST_CASE("equal elements are no mismatch") {
  CHECK(Pair{}.compare().count == 0);
}

TEST_CASE("the first is the first of the logical tensor, whatever the order in storage") {
  Pair pair;
  pair.b[1] = 8;   // [1, 0]
  pair.b[4] = 30;  // [0, 2]
  const Mismatch found = pair.compare();
  CHECK(found.count == 2);
  CHECK(found.first == 2);
  CHECK(found.first_a == "3");
  CHECK(found.first_b == "30");
  CHECK(found.largest.absolute == 27);
  CHECK(found.largest.relative == 0.9);
  CHECK(found.cards == std::vector<bool>{false, false, false, false, false, true});
}

TEST_CASE("a tolerance is kept by either measure, and zeros of both signs agree with one only") {
  Pair pair;
  pair.b[0] = 1.5F;
  CHECK(pair.compare(Tolerance{0, 0.5}).count == 0);
  CHECK(pair.compare(Tolerance{0.34, 0}).count == 0);
  CHECK(pair.compare(Tolerance{0.33, 0.49}).count == 1);
  Pair zeros;
  zeros.a[0] = 0.0F;
  zeros.b[0] = -0.0F;
  CHECK(zeros.compare().count == 1);
  CHECK(zeros.compare(Tolerance{}).count == 0);
}

TEST_CASE("mismatches add up in any order, and keep everything on their way to other processes") {
  Mismatch one{3, 7, 2, "1", "2", {0.5, std::numeric_limits<double>::infinity()}, {false, true}};
  const Mismatch other{1, 7, 1, "3", "4", {9, 0.1}, {false, false, true}};
  Mismatch sum = wire::unpacked<Mismatch>(wire::packed(other));
  sum.add(wire::unpacked<Mismatch>(wire::packed(one)));
  one.add(other);
  for (const Mismatch& each : {one, sum}) {
    CHECK(each.count == 4);
    CHECK(each.first == 7);
    CHECK(each.first_a == "3");
    CHECK(each.largest.absolute == 9);
    CHECK(each.largest.relative == std::numeric_limits<double>::infinity());
    CHECK(each.cards == std::vector<bool>{false, true, true});
  }
}
