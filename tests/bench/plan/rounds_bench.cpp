// The rounds of a message exchange, played for all processes by one: what each asks for in each round, over the
// planner, without the bytes. Prints one JSON object: how many rounds there are, how many there would have to be by the
// busiest process's bytes, and how large a message is in the mean. Ends with 1 where a reader would have to send more
// in a round than it has memory for.
//   rounds_bench PP DP TARGET_DP PROCESSES [MEMORY_MIB]    Llama-3.1-405B with two moments from pp × dp × 8 cards

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "bench/plan/llama.hpp"
#include "exchange/rounds.hpp"
#include "plan/chunk_sequence.hpp"
#include "plan/write_shares.hpp"
#include "played_process.hpp"

namespace {

using namespace ckpt;
using fixture::Played;

/// What a process writes, without bytes.
class PlayedWork final : public Workload {
 public:
  PlayedWork(const Planner& planner, const Owners& owners, const WriteShares& shares, std::uint32_t process,
             std::uint64_t chunk_bytes)
      : planner_(planner),
        owners_(owners),
        process_(process),
        chunks_(planner.target(), shares.written_by(process), chunk_bytes) {
    chunks_.take_share(shares, process);
  }

  std::optional<Chunk> next() override { return chunks_.next(); }
  std::uint64_t plan(const Chunk& chunk, const Planner::Visit& visit) const override {
    return planner_.for_each_transfer(chunk, process_, visit);
  }
  bool has_padding(const Chunk&) const override { return false; }
  std::uint32_t owner(Position card) const override { return owners_[card]; }
  PartialSum read(const Transfer&, std::byte*, std::span<std::byte>) override { return {}; }
  void write(const Chunk&, std::span<std::byte>, const PartialSum&) override {}
  void count_exchanged(std::uint64_t) override {}

 private:
  const Planner& planner_;
  const Owners& owners_;
  std::uint32_t process_;
  ChunkSequence chunks_;
};

struct Process {
  std::unique_ptr<Played> self;
  std::unique_ptr<PlayedWork> work;
  std::unique_ptr<Rounds> rounds;
};

struct RoundsPlayed {
  std::uint64_t rounds = 0;
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t most_sent = 0;  // by one reader in one round
};

/// Plans the next round of all processes; false where none has a chunk left.
bool plan_round(std::vector<Process>& processes, std::uint64_t part, RoundsPlayed& played) {
  const std::size_t count = processes.size();
  bool has_more = false;
  std::vector<std::vector<RoundRequest>> of_reader(count, std::vector<RoundRequest>(count));
  for (std::size_t p = 0; p < count; ++p) {
    processes[p].rounds->plan_ahead(*processes[p].work);
    const auto round_requests = processes[p].rounds->round_requests();
    for (std::size_t reader = 0; reader < count; ++reader) of_reader[reader][p] = round_requests[reader];
    has_more = has_more || round_requests[p].has_more;
  }
  std::vector<std::vector<std::uint64_t>> granted(count, std::vector<std::uint64_t>(count));
  for (std::size_t reader = 0; reader < count; ++reader) {
    const auto of_writers = grant_round(part, played.rounds, of_reader[reader]);
    for (std::size_t p = 0; p < count; ++p) granted[p][reader] = of_writers[p];
  }
  std::vector<std::uint64_t> sent(count, 0);
  for (std::size_t p = 0; p < count; ++p) {
    RoundPlan plan;
    processes[p].rounds->set_grants(std::move(granted[p]));
    processes[p].rounds->take_chunks(plan);
    for (std::size_t peer = 0; peer < count; ++peer) {
      const std::uint64_t bytes = plan.received.sizes[peer];
      sent[peer] += bytes;
      played.messages += bytes != 0 ? 1 : 0;
      played.message_bytes += bytes;
    }
  }
  played.most_sent = std::max(played.most_sent, *std::max_element(sent.begin(), sent.end()));
  return has_more;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: rounds_bench PP DP TARGET_DP PROCESSES [MEMORY_MIB]\n");
    return 2;
  }
  const auto number = [&](int at, std::uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  const std::uint64_t pp = number(1, 1);
  const auto count = static_cast<std::uint32_t>(number(4, 1));
  const std::uint64_t part =
      (number(5, 512) << 20) / 12;  // half of the memory maps the source; MessageExchange has six parts
  const Placement source = resolve_target(llama::layout(pp, number(2, 1)), llama::model()).placement;
  const Placement target = resolve_target(llama::layout(pp, number(3, 1)), source.tensors()).placement;
  std::vector<ParameterId> same(source.tensors().size());
  for (ParameterId p = 0; p < same.size(); ++p) same[p] = p;
  std::vector<std::uint64_t> file_bytes(source.mesh().size(), 0);
  for (ArrayId array = 0; array < source.arrays().size(); ++array)
    for (Position card = 0; card < file_bytes.size(); ++card) file_bytes[card] += source.stored_bytes(array, card);
  const Owners owners = in_blocks(file_bytes, count);
  const Readers readers(source, owners);
  const Planner planner(source, target, same, readers);
  const WriteShares shares(target, count);

  std::vector<std::uint64_t> written(count, 0);
  std::vector<std::uint64_t> sent(count, 0);
  std::vector<Process> processes(count);
  for (std::uint32_t p = 0; p < count; ++p) {
    PlayedWork all(planner, owners, shares, p, 64ULL << 20);
    while (const auto chunk = all.next()) {
      written[p] += chunk->bytes;
      all.plan(*chunk, [&](const Transfer& transfer) {
        if (owners[transfer.card] != p) sent[owners[transfer.card]] += transfer.bytes();
      });
    }
    processes[p].self = std::make_unique<Played>(static_cast<int>(p), static_cast<int>(count));
    processes[p].rounds = std::make_unique<Rounds>(*processes[p].self, part);
    processes[p].work = std::make_unique<PlayedWork>(planner, owners, shares, p, processes[p].rounds->chunk_bytes());
  }
  const std::uint64_t busiest =
      std::max(*std::max_element(written.begin(), written.end()), *std::max_element(sent.begin(), sent.end()));
  RoundsPlayed found;
  while (plan_round(processes, part, found)) ++found.rounds;
  const double least = std::max(1.0, double(busiest) / double(part));
  std::printf(
      "{\"processes\": %u, \"rounds\": %llu, \"rounds_over_least\": %.2f, \"messages\": %llu, \"mean_message_bytes\": "
      "%.0f, "
      "\"most_sent_over_part\": %.3f}\n",
      count, static_cast<unsigned long long>(found.rounds), double(found.rounds) / std::ceil(least),
      static_cast<unsigned long long>(found.messages),
      found.messages == 0 ? 0 : double(found.message_bytes) / double(found.messages),
      double(found.most_sent) / double(part));
  return double(found.most_sent) <= 1.1 * double(part) ? 0 : 1;
}
