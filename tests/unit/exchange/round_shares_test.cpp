#include "exchange/round_shares.hpp"

#include <numeric>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::uint64_t>;

constexpr std::uint64_t mib = 1ULL << 20;
constexpr std::uint64_t part = 42 * mib;

/// What the writers of one turn may ask of a reader together.
std::uint64_t sum_of_turn(const Bytes& shares, std::uint64_t turn, std::uint64_t turns) {
  std::uint64_t sum = 0;
  for (std::size_t p = turn; p < shares.size(); p += turns) sum += shares[p];
  return sum;
}

}  // namespace

TEST_CASE("a reader's round is divided among those who ask it, by how much") {
  const Bytes shares = share_of_reader(part, 4 * mib, 1, {0, 300, 100, 0});
  CHECK(shares == Bytes{0, 4 * mib + 34 * mib * 3 / 4, 4 * mib + 34 * mib / 4, 0});
  CHECK(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == part);
  CHECK(share_of_reader(part, 4 * mib, 1, {0, 0, 0}) == Bytes{0, 0, 0});
}

TEST_CASE("few writers have large chunks and no turns, however many processes there are") {
  CHECK(turns_for(part, 2) == 1);
  CHECK(chunk_bytes_for(part, 2) == 4 * mib);
  CHECK(turns_for(part, 0) == 1);
  CHECK(chunk_bytes_for(part, 0) == 4 * mib);
}

TEST_CASE("where very many ask one reader, they take turns with chunks of a MiB") {
  Bytes asked(1024, 5 * mib);
  asked[0] = 0;
  const std::uint64_t turns = turns_for(part, most_in_a_turn(asked, 1));
  const std::uint64_t chunk = chunk_bytes_for(part, most_in_a_turn(asked, turns));
  CHECK(turns == 49);
  CHECK(chunk >= mib);
  const Bytes shares = share_of_reader(part, chunk, turns, asked);
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    CHECK(sum_of_turn(shares, turn, turns) <= part);
    CHECK(sum_of_turn(shares, turn, turns) > part * 9 / 10);
  }
  for (std::size_t p = 1; p < shares.size(); ++p) CHECK(shares[p] >= chunk);
}

TEST_CASE("writers of one turn that all ask one reader have smaller chunks") {
  Bytes asked(1000, 0);
  for (std::size_t p = 0; p < asked.size(); p += 10) asked[p] = mib;  // 100 of them, all in one turn of 5
  const std::uint64_t turns = turns_for(part, most_in_a_turn(asked, 1));
  CHECK(turns == 5);
  CHECK(most_in_a_turn(asked, turns) == 100);
  const std::uint64_t chunk = chunk_bytes_for(part, 100);
  CHECK(chunk == part / 200);
  CHECK(sum_of_turn(share_of_reader(part, chunk, turns, asked), 0, turns) <= part);
}
