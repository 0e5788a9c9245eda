#include "store/pickle/opaque.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "store/torch/torch_store.hpp"
#include "temporary_directory.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;
using fixture::refused;

TEST_CASE("Objects are carried as a whole, as far as there is memory for them") {
  const std::uint64_t most = torch::most_object_bytes();
  CHECK(most > 0);
  CHECK(refused([&] { torch::check_object_bytes(most / 2); }).empty());
  CHECK_THAT(refused([&] { torch::check_object_bytes(2 * most + 1); }),
             Contains("found objects with tensors of") && Contains("an eighth of the memory"));
  CHECK(torch::memory_of_child(2 * most) == torch::memory_of_child(most));
}

TEST_CASE("A child has the memory for objects that are carried") {
  constexpr std::uint64_t bytes = 300U << 20;
  if (torch::most_object_bytes() < bytes) {
    WARN("too little memory for an object of 300 MiB");
    return;
  }
  const fixture::TemporaryDirectory place;
  const std::int64_t elements = bytes / 4;
  const std::string state =
      fixture::dict({{"seen", fixture::tensor(fixture::storage("0", elements), 0, {elements}, {1})}});
  fixture::put_bytes(
      place / "large.pt",
      fixture::torch_file(
          fixture::dict({{"loader", fixture::call(fixture::global("data", "Loader"), {}) + state + "b"}}),
          {{"0", std::string(bytes, '\0')}}));
  CHECK(torch_store()->tree(place / "large.pt").size() > bytes);
}
