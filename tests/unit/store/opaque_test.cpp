#include "store/torch/opaque.hpp"

#include "catch.hpp"
#include "refused.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;
using fixture::refused;

TEST_CASE("Objects are carried as a whole, as far as there is memory for them") {
  const std::uint64_t most = torch::most_object_bytes();
  CHECK(most > 0);
  CHECK(refused([&] { torch::check_object_bytes(most / 2); }).empty());
  CHECK_THAT(refused([&] { torch::check_object_bytes(2 * most + 1); }),
             Contains("found objects with tensors of") && Contains("an eighth of the memory"));
}
