#include "base/handle.hpp"

#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

std::vector<int> released;

struct Traits {
  using type = int;
  static int none() noexcept { return -1; }
  static void release(int handle) noexcept { released.push_back(handle); }
};
using Owned = Handle<Traits>;

}  // namespace

TEST_CASE("a handle is released once, by its last owner") {
  released.clear();
  {
    Owned a(1);
    Owned b(std::move(a));
    CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move): that it is empty is the point
    CHECK(b.get() == 1);
    Owned c(2);
    c = std::move(b);
    CHECK(released == std::vector<int>{2});
    CHECK(c.get() == 1);
    const Owned none;
    CHECK_FALSE(none);
  }
  CHECK(released == std::vector<int>{2, 1});
}

TEST_CASE("a handle may be let go of, or reset early") {
  released.clear();
  {
    Owned a(3);
    CHECK(a.release() == 3);
    Owned b(4);
    b.reset();
    b.reset();
    Owned& same = b;
    b = std::move(same);
  }
  CHECK(released == std::vector<int>{4});
}

TEST_CASE("a buffer is zeros, moves, and may be empty") {
  Buffer buffer(100'000);
  REQUIRE(buffer.size() == 100'000);
  CHECK(buffer.first(100'000).back() == std::byte{0});
  buffer.data()[99'999] = std::byte{7};
  Buffer other = std::move(buffer);
  CHECK(other.first(100'000).back() == std::byte{7});
  CHECK(buffer.size() == 0);  // NOLINT(bugprone-use-after-move)
  CHECK(buffer.data() == nullptr);
  CHECK(Buffer(0).size() == 0);
}

TEST_CASE("memory that cannot be had is an error that names the remedy") {
  CHECK_THROWS_WITH(Buffer(1ULL << 62), Catch::Matchers::Contains("cannot have"));
}
