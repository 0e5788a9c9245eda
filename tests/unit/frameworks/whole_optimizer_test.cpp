#include "frameworks/whole_optimizer.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/frameworks/zero_fixture.hpp"

using namespace ckpt;
using namespace ckpt::deepspeed;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// A tensor in a storage of its own.
std::string tensor(const std::string& key, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  std::vector<std::int64_t> strides(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; elements *= shape[d]) strides[d] = elements;
  return fixture::tensor(storage(key, elements), 0, shape, strides);
}

/// What has so many elements of a storage, by the names above.
torch::Storages storages_of(const std::vector<std::pair<std::string, std::uint64_t>>& sizes) {
  torch::Storages storages;
  std::uint64_t at = 0;
  for (const auto& [key, elements] : sizes) {
    storages.emplace(key, Interval{at, at + 4 * elements});
    at += 4 * elements;
  }
  return storages;
}

struct Saved {
  Pairs module;
  Pairs state;                      // by number
  std::vector<std::string> groups;  // "params" and more of each
  std::vector<std::pair<std::string, std::uint64_t>> sizes;
};

std::vector<StateOfWeight> states_in(const Saved& saved) {
  std::string numbered = "}(";
  for (const auto& [number, kept] : saved.state) numbered += integer(std::stoll(number)) + dict({{"exp_avg", kept}});
  const std::string bytes =
      pickle(dict({{"module", ordered(saved.module)},
                   {"buffer_names", list({text("seen")})},
                   {"optimizer", dict({{"state", numbered + "u"}, {"param_groups", list(saved.groups)}})}}));
  std::size_t at = 0;
  const auto tree = torch::Pickle::read(bytes, at).value();
  return states_of_weights(tree, storages_of(saved.sizes));
}

std::string group(const std::vector<std::string>& numbers_of_params) {
  return dict({{"params", list(numbers_of_params)}});
}

std::vector<std::string> weights_of(const std::vector<StateOfWeight>& states) {
  std::vector<std::string> weights;
  for (const StateOfWeight& each : states) weights.push_back(each.path + " " + each.weight);
  return weights;
}

/// Matrices and vectors in groups of their own, a buffer, and a weight by a second name.
Saved two_groups() {
  return {{{"a", tensor("0", {2, 3})},
           {"bias", tensor("1", {3})},
           {"seen", tensor("2", {2, 3})},
           {"b", tensor("3", {2, 3})},
           {"head", tensor("0", {2, 3})}},
          {{"0", tensor("4", {2, 3})}, {"1", tensor("5", {2, 3})}, {"2", tensor("6", {3})}},
          {group({integer(0), integer(1)}), group({integer(2)})},
          {{"0", 6}, {"1", 3}, {"2", 6}, {"3", 6}, {"4", 6}, {"5", 6}, {"6", 3}}};
}

}  // namespace

TEST_CASE("An optimizer's numbers stand for the weights of its groups in the order of the module") {
  const auto states = states_in(two_groups());
  CHECK(weights_of(states) ==
        std::vector<std::string>{"optimizer/state/0/ a", "optimizer/state/1/ b", "optimizer/state/2/ bias"});
  CHECK_FALSE(states.front().is_master);
}

TEST_CASE("A weight that fits nowhere is frozen") {
  Saved saved = two_groups();
  saved.groups.pop_back();
  CHECK(weights_of(states_in(saved)) == std::vector<std::string>{"optimizer/state/0/ a", "optimizer/state/1/ b"});
}

TEST_CASE("A state that has no numbers says nothing of shapes") {
  const std::string bytes = pickle(dict({{"module", ordered({{"a", tensor("0", {2})}})},
                                         {"optimizer", dict({{"state", list({dict({{"exp_avg", tensor("1", {3})}})})},
                                                             {"param_groups", list({group({integer(0)})})}})}}));
  std::size_t at = 0;
  const auto tree = torch::Pickle::read(bytes, at).value();
  CHECK(weights_of(states_of_weights(tree, storages_of({{"0", 2}, {"1", 3}}))) ==
        std::vector<std::string>{"optimizer/state/0/ a"});
}

TEST_CASE("Groups that name their parameters are believed") {
  Saved saved = two_groups();
  saved.groups = {dict({{"params", list({integer(0), integer(1)})}, {"param_names", list({text("b"), text("a")})}}),
                  dict({{"params", list({integer(2)})}, {"param_names", list({text("bias")})}})};
  CHECK(weights_of(states_in(saved)).front() == "optimizer/state/0/ b");
}

TEST_CASE("Where more than one weight could be meant, none is guessed") {
  Saved saved = two_groups();
  saved.groups = {group({integer(0)}), group({integer(1)}), group({integer(2)})};
  CHECK_THAT(refused([&] { states_in(saved); }), Contains("either of which could have b [2, 3] next"));
  saved.groups = {group({integer(0)}), group({integer(2)})};  // one of two matrices is frozen
  CHECK_THAT(refused([&] { states_in(saved); }), Contains("parameter 0, which could be a or b"));
  saved.groups = {group({integer(2), integer(0), integer(1)})};  // not in the order of the module
  CHECK_THAT(refused([&] { states_in(saved); }), Contains("found group 0 with 3 parameters"));
}
