#include "plan/readers.hpp"

#include <map>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// Bytes that each card reads when one writer needs every shard of every parameter once.
std::map<Position, std::uint64_t> load(const Placement& placement, const Readers& readers, std::uint32_t writer = 0) {
  std::map<Position, std::uint64_t> bytes;
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
    placement.for_each_first(parameter, [&](Position first) {
      bytes[readers.choose(parameter, first, writer)] +=
          numel(placement.stored_shape(placement.array_of(parameter), first)) * 4;
    });
  return bytes;
}

std::vector<Tensor> many(std::size_t count) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back(tensor(std::string("p").append(std::to_string(100 + i)), {100}));
  return tensors;
}

}  // namespace

TEST_CASE("replicas share the reading, equally") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", ""), many(40));
  const auto bytes = load(placement, Readers(placement, {}));
  REQUIRE(bytes.size() == 4);
  for (const auto& [card, each] : bytes) CHECK(each == 10 * 400);
}

TEST_CASE("a card that has shards of its own to read is spared its replicas") {
  const Layout of = layout(R"(["dp"])", "[2]", R"("parameters": [{"name": "big", "at": {"dp": 0}}, {"name": "*"}])");
  std::vector<Tensor> tensors = many(4);
  tensors.push_back(tensor("big", {1000}));
  const Placement placement = target(of, tensors);
  const auto bytes = load(placement, Readers(placement, {}));
  CHECK(bytes.at(0) == 4000);
  CHECK(bytes.at(1) == 1600);
}

TEST_CASE("processes are balanced before files") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", ""), many(40));
  const Readers readers(placement, {0, 0, 0, 1}, true);  // three files are one process's
  const auto bytes = load(placement, readers, 7);
  CHECK(bytes.at(3) == 20 * 400);
  CHECK(bytes.at(0) + bytes.at(1) + bytes.at(2) == 20 * 400);
  CHECK_FALSE(readers.is_shared());
  CHECK(readers.owner(3) == 1);
}

TEST_CASE("a writer reads its own replica") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", ""), many(8));
  const Readers readers(placement, {0, 1, 2, 1}, true);
  for (ParameterId parameter = 0; parameter < 8; ++parameter) {
    CHECK(readers.choose(parameter, 0, 1) == 1);
    CHECK(readers.choose(parameter, 0, 2) == 2);
  }
}

TEST_CASE("who reads what makes no difference to the bytes where replicas may differ unseen") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", ""), many(8));
  const Readers alone(placement, {});
  const Readers several(placement, {0, 1, 2, 1});
  for (ParameterId parameter = 0; parameter < 8; ++parameter)
    for (std::uint32_t writer = 0; writer < 3; ++writer)
      CHECK(several.choose(parameter, 0, writer) == alone.choose(parameter, 0, 0));
}

TEST_CASE("what is not replicated is read where it is") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", R"("split": ["dp"])"), many(3));
  const Readers readers(placement, {});
  CHECK(readers.is_shared());
  CHECK(readers.owner(3) == 0);
  for (Position card = 0; card < 4; ++card) CHECK(readers.choose(1, card, 0) == card);
}

TEST_CASE("replicas that may differ are read from the lowest card") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", R"("replicas": "first")"), many(8));
  for (const Owners& owners : {Owners{}, Owners{0, 1, 2, 3}}) {
    const Readers readers(placement, owners);
    for (ParameterId parameter = 0; parameter < 8; ++parameter) CHECK(readers.choose(parameter, 0, 2) == 0);
  }
}

TEST_CASE("the choice is a function of placement and owners alone") {
  const Placement placement = target(one_rule(R"(["dp", "tp"])", "[5, 2]", R"("split": ["tp"])"), many(30));
  const Owners owners{0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
  const Readers a(placement, owners);
  const Readers b(placement, owners);
  for (ParameterId parameter = 0; parameter < 30; ++parameter)
    for (Position first : {0U, 1U})
      for (std::uint32_t writer = 0; writer < 4; ++writer)
        CHECK(a.choose(parameter, first, writer) == b.choose(parameter, first, writer));
}

TEST_CASE("a writer reads a replica of its host, if all are known to be equal") {
  const Placement placement = target(one_rule(R"(["dp"])", "[4]", ""), many(8));
  const Owners owners{0, 1, 2, 3};
  const std::vector<std::uint32_t> hosts{0, 0, 0, 1, 1, 0};
  const auto of_far = load(placement, Readers(placement, owners, true, hosts), 4);
  CHECK(of_far.size() == 1);
  CHECK(of_far.at(3) == 8 * 400);
  CHECK(load(placement, Readers(placement, owners, false, hosts), 4).size() == 4);  // the choice is the source's
}
