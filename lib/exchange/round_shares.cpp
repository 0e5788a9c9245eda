#include "exchange/round_shares.hpp"

#include <algorithm>
#include <numeric>

#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t best_chunk = 4ULL << 20;
constexpr std::uint64_t fair_chunk = 1ULL << 20;  // below, messages cost more by their number than by their bytes
constexpr std::uint64_t least_chunk = 4096;

}  // namespace

std::uint64_t turns_for(std::uint64_t part_bytes, std::uint64_t most_writers) {
  const std::uint64_t at_once = std::max<std::uint64_t>(part_bytes / (2 * fair_chunk), 1);
  return std::max<std::uint64_t>((most_writers + at_once - 1) / at_once, 1);
}

std::uint64_t chunk_bytes_for(std::uint64_t part_bytes, std::uint64_t most_writers) {
  return std::clamp(part_bytes / (2 * std::max<std::uint64_t>(most_writers, 1)), least_chunk, best_chunk);
}

std::uint64_t most_in_a_turn(const std::vector<std::uint64_t>& asked, std::uint64_t turns) {
  std::vector<std::uint64_t> writers(turns, 0);
  for (std::size_t p = 0; p < asked.size(); ++p) writers[p % turns] += asked[p] != 0 ? 1 : 0;
  return *std::max_element(writers.begin(), writers.end());
}

std::vector<std::uint64_t> share_of_reader(std::uint64_t part_bytes, std::uint64_t chunk_bytes, std::uint64_t turns,
                                           const std::vector<std::uint64_t>& asked) {
  std::vector<std::uint64_t> shares(asked.size(), 0);
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    double all = 0;
    std::uint64_t writers = 0;
    for (std::size_t p = turn; p < asked.size(); p += turns) {
      all += double(asked[p]);
      writers += asked[p] != 0 ? 1 : 0;
    }
    // A chunk each for certain, the rest by what they ask.
    const std::uint64_t certain = std::min(writers * chunk_bytes, part_bytes);
    for (std::size_t p = turn; p < asked.size(); p += turns)
      if (asked[p] != 0)
        shares[p] = chunk_bytes + static_cast<std::uint64_t>(double(part_bytes - certain) * double(asked[p]) / all);
  }
  return shares;
}

RoundShares share_rounds(std::uint64_t part_bytes, const std::vector<std::uint64_t>& asked, Communicator& processes) {
  const auto size = static_cast<std::size_t>(processes.size());
  const auto rank = static_cast<std::size_t>(processes.rank());
  std::vector<std::uint64_t> to_peer = asked.empty() ? std::vector<std::uint64_t>(size, 1) : asked;
  to_peer[rank] = 0;  // what a process reads for itself is no message
  const std::vector<std::uint64_t> of_me = give_each(std::move(to_peer), processes);
  RoundShares shares;
  shares.turns = turns_for(part_bytes, processes.maximum(most_in_a_turn(of_me, 1)));
  shares.chunk_bytes = chunk_bytes_for(part_bytes, processes.maximum(most_in_a_turn(of_me, shares.turns)));
  shares.most_asked = give_each(share_of_reader(part_bytes, shares.chunk_bytes, shares.turns, of_me), processes);
  return shares;
}

}  // namespace ckpt
