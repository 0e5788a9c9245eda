#include "layout/tables/key_place.hpp"

#include <array>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using namespace ckpt::place_step;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t two_63 = 1ULL << 63;
constexpr std::uint64_t last_key = ~0ULL;

std::vector<PlaceStep> paddle(std::uint64_t shards) {
  return {Mod{shards}, Blocks{Uneven::ceil}};
}

std::string refused(const std::vector<PlaceStep>& steps, std::uint64_t servers) {
  try {
    KeyPlace(steps, servers);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::vector<std::uint64_t> some_keys() {
  std::vector<std::uint64_t> keys{
      0, 1, 6, 7, 1ULL << 31, (1ULL << 31) - 1, two_63 - 1, two_63, two_63 + 5, last_key - 1, last_key, 123456789};
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) keys.push_back(random() >> (i % 64));
  return keys;
}

}  // namespace

TEST_CASE("Paddle's shards and servers are those of its own formulas") {
  struct Vector {
    std::uint64_t key;
    std::uint64_t shard;
    std::array<std::uint64_t, 4> servers;  // of 3, 4, 7 and 16
  };
  for (const auto& [key, shard, servers] : {Vector{7, 7, {0, 0, 0, 0}},
                                            {1000, 0, {0, 0, 0, 0}},
                                            {123456789, 789, {2, 3, 5, 12}},
                                            {two_63 + 5, 813, {2, 3, 5, 12}},
                                            {last_key, 615, {1, 2, 4, 9}}}) {
    const std::array<std::uint64_t, 4> counts{3, 4, 7, 16};
    for (std::size_t i = 0; i < counts.size(); ++i)
      CHECK(KeyPlace(paddle(1000), counts[i]).trace(key) == std::vector<std::uint64_t>{shard, servers[i]});
  }
  for (const std::uint64_t shards : {1000, 37, 10})
    for (const std::uint64_t servers : {1, 3, 4, 7, 30, 64}) {
      const KeyPlace place(paddle(shards), servers);
      const std::uint64_t average = shards / servers + (shards % servers == 0 ? 0 : 1);
      for (const std::uint64_t key : some_keys()) REQUIRE(place.server(key) == key % shards / average);
    }
}

TEST_CASE("the same remainder is four functions for keys of 2^63 and above") {
  for (const std::uint64_t servers : {1, 2, 3, 7, 1000}) {
    const KeyPlace plain({Mod{}}, servers);
    const KeyPlace floor({AsSigned{Signedness::floor}, Mod{}}, servers);
    const KeyPlace truncate({AsSigned{Signedness::truncate}, Mod{}}, servers);
    const KeyPlace mask({Mask{0x7fffffff}, Mod{}}, servers);
    const auto n = static_cast<std::int64_t>(servers);
    for (const std::uint64_t key : some_keys()) {
      const auto number = static_cast<std::int64_t>(key);
      const std::int64_t remainder = number % n;  // C's: towards zero
      REQUIRE(plain.server(key) == key % servers);
      REQUIRE(floor.server(key) == static_cast<std::uint64_t>((remainder + n) % n));
      REQUIRE(truncate.server(key) == (remainder < 0 ? KeyPlace::nowhere : static_cast<std::uint64_t>(remainder)));
      REQUIRE(mask.server(key) == (key & 0x7fffffff) % servers);
    }
  }
}

TEST_CASE("blocks cut the values before them as uneven says") {
  for (const std::uint64_t values : {1, 5, 12, 1000})
    for (const std::uint64_t servers : {1, 3, 4, 7, 16}) {
      // The definition of "balanced": the first n mod k blocks have one more.
      std::uint64_t start = 0;
      const KeyPlace balanced({Rows{values}, Blocks{Uneven::balanced}}, servers);
      for (std::uint64_t block = 0; block < servers; ++block) {
        const std::uint64_t size = values / servers + (block < values % servers ? 1 : 0);
        for (std::uint64_t v = start; v < start + size; ++v) REQUIRE(balanced.server(v) == block);
        start += size;
      }
      CHECK(balanced.server(values) == KeyPlace::nowhere);
    }
  const KeyPlace rows({Rows{10}, Blocks{Uneven::ceil}}, 4);  // TorchRec: 3, 3, 3, 1
  CHECK(rows.server(2) == 0);
  CHECK(rows.server(9) == 3);
  CHECK(rows.server(last_key) == KeyPlace::nowhere);
  CHECK(KeyPlace({Rows{8}, Blocks{Uneven::exact}}, 4).server(7) == 3);
}

TEST_CASE("hashes are those of their authors") {
  // SplitMix64 seeded with 0 gives e220a8397b1dcdaf first; fmix64 of 1 is b456bcfc34c2cb2c.
  const std::uint64_t servers = 1000;
  CHECK(KeyPlace({Hash{KeyHash::splitmix64}, Mod{}}, servers).server(0) == 0xe220a8397b1dcdafULL % servers);
  CHECK(KeyPlace({Hash{KeyHash::murmur3_fmix64}, Mod{}}, servers).server(1) == 0xb456bcfc34c2cb2cULL % servers);
}

TEST_CASE("a division by multiplication is the processor's") {
  for (const std::uint64_t by : std::vector<std::uint64_t>{1, 2, 3, 7, 10, 1000, 1024, (1ULL << 32) + 1, two_63 - 1,
                                                           two_63, two_63 + 1, last_key - 1, last_key}) {
    const Divisor divisor(by);
    for (const std::uint64_t key : some_keys()) {
      REQUIRE(divisor.quotient(key) == key / by);
      REQUIRE(divisor.remainder(key) == key % by);
    }
  }
}

TEST_CASE("steps that lead to no server are refused") {
  CHECK_THAT(refused({Mod{1000}}, 4),
             Contains("0: values up to 999, expected a last step whose values are below the 4"));
  CHECK_THAT(refused({Mask{3}, Hash{}}, 4), Contains("1: values without a bound"));
  CHECK_THAT(refused({Blocks{Uneven::ceil}}, 4), Contains("0: blocks of values without a bound"));
  CHECK_THAT(refused({Rows{10}, Blocks{Uneven::exact}}, 4), Contains("1: 10 values in \"exact\" blocks"));
  CHECK_THAT(refused({Mod{}, Field{"slot"}}, 4), Contains("1: {\"field\": \"slot\"} after another step"));
  CHECK_THAT(refused({AsSigned{Signedness::floor}, Hash{}, Mod{}}, 4), Contains("after \"signed\""));
  CHECK_THAT(refused({Mod{}, AsSigned{Signedness::floor}, Mod{}}, 4), Contains("gives no negative numbers"));
  CHECK_THAT(refused({Rows{10}, Hash{}, Mod{}}, 4), Contains("1: {\"hash\": \"splitmix64\"} after a step"));
  CHECK(refused({Mod{1000}, Mod{}}, 4) == "nothing was thrown");
  CHECK(refused({Mod{3}}, 4) == "nothing was thrown");
}
