#include <numeric>

#include "catch.hpp"
#include "exchange/rounds.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::uint64_t>;

std::uint64_t sum(const Bytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("where all fits, all is granted") {
  CHECK(grant_round(100, 0, {{true, 10, 40}, {true, 0, 50}, {false, 0, 0}}) == Bytes{40, 50, 0});
  CHECK(grant_round(100, 7, {{true, 0, 0}}) == Bytes{0});
}

TEST_CASE("those who ask share a round by what they would like, each its next chunk for certain") {
  CHECK(grant_round(100, 0, {{true, 10, 210}, {true, 10, 30}, {true, 0, 0}}) == Bytes{10 + 72, 10 + 7, 0});
  // One that needs nothing of this reader for its next chunk may need some of it for those behind.
  CHECK(grant_round(100, 0, {{true, 20, 100}, {true, 0, 80}}) == Bytes{60, 40});
}

TEST_CASE("where too many ask, each is among the served in its turn, and what is granted stays within the memory") {
  const std::vector<RoundRequest> round_requests(50, {true, 30, 100});
  std::vector<int> served(round_requests.size(), 0);
  for (std::uint64_t round = 0; round < round_requests.size(); ++round) {
    const Bytes granted = grant_round(100, round, round_requests);
    CHECK(granted[round] >= 30);
    CHECK(sum(granted) <= 100);
    for (std::size_t p = 0; p < granted.size(); ++p) served[p] += granted[p] >= 30 ? 1 : 0;
  }
  CHECK(served == std::vector<int>(round_requests.size(), 3));
}

TEST_CASE("a chunk that takes more than there is comes alone, in its writer's turn") {
  const std::vector<RoundRequest> round_requests{{true, 500, 700}, {true, 10, 10}, {true, 10, 10}};
  CHECK(grant_round(100, 0, round_requests) == Bytes{500, 0, 0});
  CHECK(grant_round(100, 1, round_requests) == Bytes{0, 10, 10});
}
