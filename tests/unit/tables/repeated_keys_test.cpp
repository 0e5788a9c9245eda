#include "tables/keyed/repeated_keys.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "catch.hpp"
#include "tensor/mix.hpp"

using namespace ckpt;

namespace {

using Keys = std::vector<std::uint64_t>;
constexpr std::uint64_t all = ~0ULL;

/// Piece by piece.
RepeatedKeys::Read reading(const Keys& keys, std::size_t piece = 10000) {
  return [&keys, piece](const RepeatedKeys::Take& take) {
    for (std::size_t at = 0; at < keys.size(); at += piece)
      take(std::span(keys).subspan(at, std::min(piece, keys.size() - at)));
  };
}

Keys mixed(std::size_t count) {
  Keys keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(mix(i));
  return keys;
}

}  // namespace

TEST_CASE("keys that stand more than once are found among any number, by the same finder") {
  RepeatedKeys repeated;
  for (const std::size_t count : {0, 1, 2, 100, 8191, 8192, 100000, 7}) {
    Keys keys = mixed(count);
    CHECK(repeated.find(reading(keys), {}, all)->empty());
    if (count < 2) continue;
    for (const std::uint64_t twice : {mix(0), mix(count - 1), mix(0)}) keys.push_back(twice);
    Keys expected{mix(0), mix(count - 1)};
    std::sort(expected.begin(), expected.end());
    CHECK(repeated.find(reading(keys), {}, all) == expected);
  }
}

TEST_CASE("one reading finds the same where it is known how many keys come, and else there are more") {
  RepeatedKeys repeated;
  for (const std::size_t count : {5000, 100'000, 300'000}) {
    Keys keys = mixed(count);
    for (const bool are_repeated : {false, true}) {
      if (are_repeated)
        for (std::size_t i = 0; i < 50; ++i) keys.push_back(mix(i));
      for (const unsigned bits : {0U, 2U}) {
        Keys found;
        for (std::uint64_t number = 0; number < 1ULL << bits; ++number)
          for (const std::uint64_t expected : {count >> bits, std::size_t{0}, count / 2 >> bits, 2 * count}) {
            std::size_t readings = 0;
            const auto read = [&](const RepeatedKeys::Take& take) {
              ++readings;
              reading(keys)(take);
            };
            const auto twice = repeated.find(read, {bits, number}, all, expected);
            REQUIRE(twice);
            CHECK((*twice == repeated.find(reading(keys), {bits, number}, all)));
            const bool is_enough = expected >= count >> bits && expected >= 4096;
            CHECK(readings == (is_enough ? 1 : expected < 4096 ? 2 : 3));
          }
      }
    }
  }
  // All in one bucket: room for a bucket's keys is not room for these.
  const Keys same(100'000, 7);
  CHECK(repeated.find(reading(same), {}, all, same.size()) == Keys{7});
  CHECK(repeated.find(reading(same), {}, 1000, same.size()) == Keys{7});
}

TEST_CASE("each key is in one subset, and is found in that one") {
  Keys keys = mixed(30000);
  keys.push_back(keys[17]);
  RepeatedKeys repeated;
  for (const unsigned bits : {1U, 3U, 12U}) {
    Keys found;
    for (std::uint64_t number = 0; number < 1ULL << bits; ++number) {
      const auto in_subset = repeated.find(reading(keys), {bits, number}, all);
      found.insert(found.end(), in_subset->begin(), in_subset->end());
    }
    CHECK(found == Keys{keys[17]});
  }
}

TEST_CASE("small keys, keys that are all the same and keys made to meet take no longer") {
  const std::size_t count = 1 << 20;
  Keys following;
  Keys same(count, 5);
  Keys meeting;  // their mixed bits differ in the last ones alone
  for (std::size_t i = 0; i < count; ++i) {
    following.push_back(i);
    meeting.push_back(unmixed(i));
  }
  RepeatedKeys repeated;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(repeated.find(reading(following), {}, all)->empty());
  CHECK(repeated.find(reading(meeting), {}, all)->empty());
  CHECK(repeated.find(reading(same), {}, all) == Keys{5});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));  // some 10^12 steps where each meets all
}

TEST_CASE("keys that change between the two readings are told") {
  const Keys keys = mixed(20000);
  Keys other = keys;
  other[7] = mix(keys.size());
  Keys more = keys;
  more.push_back(1);
  Keys fewer = keys;
  fewer.pop_back();
  for (const Keys& second : {other, more, fewer, Keys(keys.size(), 3)}) {
    bool is_second = false;
    const auto read = [&](const RepeatedKeys::Take& take) {
      reading(std::exchange(is_second, true) ? second : keys)(take);
    };
    CHECK_FALSE(RepeatedKeys().find(read, {}, all));
  }
}

TEST_CASE("more keys than there is room for are looked at part by part") {
  const std::uint64_t most = 1 << 16;
  Keys keys = mixed(5 * most);
  keys.push_back(keys[3]);
  Keys meeting;
  for (std::size_t i = 0; i < 3 * most; ++i) meeting.push_back(unmixed(i));
  meeting.push_back(meeting[1000]);
  Keys pairs(3 * most, 17);
  pairs.push_back(18);
  pairs.push_back(18);
  RepeatedKeys repeated;
  CHECK(repeated.find(reading(keys), {}, most) == Keys{keys[3]});
  CHECK(repeated.find(reading(meeting), {}, most) == Keys{meeting[1000]});
  CHECK(repeated.find(reading(pairs), {}, most) == Keys{17, 18});
  Keys in_parts;
  for (const std::uint64_t half : {0, 1}) {
    const auto found = repeated.find(reading(pairs), {1, half}, most);
    in_parts.insert(in_parts.end(), found->begin(), found->end());
  }
  std::sort(in_parts.begin(), in_parts.end());
  CHECK(in_parts == Keys{17, 18});
}
