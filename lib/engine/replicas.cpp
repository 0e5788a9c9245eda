#include "engine/replicas.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/buffer.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "engine/selection.hpp"
#include "plan/chunk.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t block_bytes = 256ULL << 10;
constexpr std::uint64_t whole_below = 64ULL << 10;  // arrays up to this size are sampled whole
constexpr std::uint64_t sample_bytes = 4ULL << 10;
constexpr std::uint64_t samples = 8;

/// What one card's copy of a parameter's shard came to.
struct Digest {
  ParameterId parameter;
  std::uint32_t unused = 0;
  Position first;
  Position card;
  XXH64_hash_t low;
  XXH64_hash_t high;
};

class Comparison {
 public:
  Comparison(const Checkpoint& checkpoint, const Placement& placement, SourceReader& reader, const Job& job)
      : checkpoint_(checkpoint), placement_(placement), reader_(reader), is_full_(job.replicas == ReplicaCheck::full) {
    for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
      if (is_kept(job, placement.tensors()[parameter].name) &&
          placement.spreads()[parameter].replicas == Replicas::check && placement.replica_bases(parameter).size() > 1)
        add(parameter);
  }

  /// Digests of all that `is_mine` says this process reads.
  std::vector<Digest> digests(const std::function<bool(Position card)>& is_mine, unsigned threads) {
    std::vector<Digest> result;
    std::mutex mutex;
    Workers workers(threads);
    TaskGroup tasks(workers);
    for (const ParameterId parameter : parameters_)
      placement_.for_each_first(parameter, [&](Position first) {
        for (const Position card : placement_.holders(parameter, first)) {
          if (!is_mine(card)) continue;
          tasks.run([this, parameter, first, card, &mutex, &result] {
            const Digest digest = of_card(parameter, first, card);
            const std::lock_guard lock(mutex);
            result.push_back(digest);
          });
        }
      });
    tasks.wait();
    return result;
  }

  /// Throws for the first difference among digests that belong together.
  void compare(std::vector<Digest> digests) {
    std::sort(digests.begin(), digests.end(), [](const Digest& a, const Digest& b) {
      return std::tuple(a.parameter, a.first, a.card) < std::tuple(b.parameter, b.first, b.card);
    });
    for (std::size_t i = 1; i < digests.size(); ++i) {
      const Digest& a = digests[i - 1];
      const Digest& b = digests[i];
      if (a.parameter == b.parameter && a.first == b.first && (a.low != b.low || a.high != b.high))
        refuse(digests, a.parameter, a.first);
    }
  }

 private:
  void add(ParameterId parameter) {
    parameters_.push_back(parameter);
    const Position first = placement_.replica_bases(parameter).front();
    if (placement_.holders(parameter, first).size() < placement_.replica_bases(parameter).size())
      spdlog::warn(
          "parameter '{}': some of its replicas lie elsewhere in their buckets, as members before it are cut unevenly; "
          "these are not compared",
          placement_.tensors()[parameter].name);
  }

  /// The stored runs of a card's part of a parameter that are compared: all, or spread-out samples of it.
  std::vector<Interval> runs(ParameterId parameter, Position card, std::uint64_t element) const {
    const Interval own = placement_.run_of(parameter, card);
    const Extents stored = placement_.stored_shape(placement_.array_of(parameter), card);
    const bool is_array = own.lo == 0 && own.size() == volume(stored);  // else a part of a flat buffer
    const Extents shape = is_array ? stored : Extents{own.size()};
    const std::uint64_t bytes = own.size() * element;
    const ChunkGrid grid(shape, element, is_full_ || bytes <= whole_below ? block_bytes : sample_bytes);
    const bool is_whole = is_full_ || bytes <= whole_below || grid.count() <= samples;
    std::vector<Interval> runs;
    for (std::uint64_t i = 0; i < (is_whole ? grid.count() : samples); ++i) {
      const Interval run = grid[is_whole ? i : i * (grid.count() - 1) / (samples - 1)];
      runs.push_back({own.lo + run.lo, own.lo + run.hi});
    }
    return runs;
  }

  Digest of_card(ParameterId parameter, Position first, Position card) {
    Digest digest{parameter, 0, first, card, 0, 0};
    const ArrayId array = placement_.array_of(parameter);
    XXH3_state_t* state = XXH3_createState();
    const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> owner(state, XXH3_freeState);
    XXH3_128bits_reset(state);
    if (placement_.tensors()[parameter].verbatim) {
      const Schema& schema = *checkpoint_.file(card).schema;
      if (const auto index = reader_.dataset(card, array)) {
        const std::string& value = schema.datasets[*index].verbatim_value;
        XXH3_128bits_update(state, value.data(), value.size());
      }
    } else {
      const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
      for (const Interval& run : runs(parameter, card, element))
        placement_.for_each_region_of(parameter, card, run, [&](ParameterId, const Region& region) {
          if (!region.fill) update(state, {card, array, parameter, element, region, 0, {}});
        });
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    digest.low = hash.low64;
    digest.high = hash.high64;
    return digest;
  }

  void update(XXH3_state_t* state, Transfer transfer) {
    thread_local Buffer room;
    transfer.target_strides = row_major_strides(transfer.source.box.shape());
    const std::uint64_t bytes = transfer.bytes();
    if (room.size() < 2 * bytes) room = Buffer(std::max(2 * bytes, 2 * block_bytes));
    reader_.read(transfer, room.data(), {room.data() + bytes, static_cast<std::size_t>(room.size() - bytes)});
    XXH3_128bits_update(state, room.data(), bytes);
  }

  /// The commonest digest is taken for right, so that the one odd card is named, and not the others.
  [[noreturn]] void refuse(const std::vector<Digest>& digests, ParameterId parameter, Position first) const {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Position>> groups;
    for (const Digest& digest : digests)
      if (digest.parameter == parameter && digest.first == first)
        groups[{digest.high, digest.low}].push_back(digest.card);
    const auto most = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.second.size(), b.second.front()) < std::tuple(b.second.size(), a.second.front());
    });
    std::vector<Position> odd;
    for (const auto& group : groups)
      if (&group != &*most) odd.insert(odd.end(), group.second.begin(), group.second.end());
    std::sort(odd.begin(), odd.end());
    const Mesh& mesh = placement_.mesh();
    throw Error(Kind::input,
                checkpoint_.file_name(odd.front()) + ": /" + placement_.arrays()[placement_.array_of(parameter)].name,
                {"the replicas of parameter '" + placement_.tensors()[parameter].name + "' differ: card" +
                     (odd.size() > 1 ? "s " : " ") + list_cards(mesh, odd) + " from card" +
                     (most->second.size() > 1 ? "s " : " ") + list_cards(mesh, most->second),
                 "expected the same bytes on every one",
                 "if they are meant to differ, say \"replicas\": \"first\" in the rule; to take one unchecked, "
                 "--replicas trust"});
  }

  const Checkpoint& checkpoint_;
  const Placement& placement_;
  SourceReader& reader_;
  bool is_full_;
  std::vector<ParameterId> parameters_;
};

}  // namespace

void check_replicas(const Checkpoint& checkpoint, const Placement& placement, SourceReader& reader,
                    const Owners& owners, const Job& job, unsigned threads, Communicator& processes) {
  if (job.replicas == ReplicaCheck::trust) return;
  const auto size = static_cast<std::uint64_t>(processes.size());
  const auto rank = static_cast<std::uint64_t>(processes.rank());
  const auto reader_of = [&](Position card) { return owners.empty() ? card % size : owners[card]; };
  Comparison comparison(checkpoint, placement, reader, job);
  std::vector<Digest> mine;
  agree(processes, [&] { mine = comparison.digests([&](Position card) { return reader_of(card) == rank; }, threads); });
  // Those that belong together meet at one process.
  std::vector<std::string> to_peer(size);
  for (const Digest& digest : mine)
    to_peer[digest.first % size].append(reinterpret_cast<const char*>(&digest), sizeof digest);
  std::vector<Digest> together;
  for (const std::string& bytes : processes.all_to_all(std::move(to_peer))) {
    const std::size_t before = together.size();
    together.resize(before + bytes.size() / sizeof(Digest));
    std::memcpy(together.data() + before, bytes.data(), bytes.size());
  }
  agree(processes, [&] { comparison.compare(std::move(together)); });
}

}  // namespace ckpt
