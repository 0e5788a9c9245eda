#include "compare/replica_digests.hpp"

#include <algorithm>

#include "base/buffer.hpp"
#include "compare/parallel_reads.hpp"
#include "plan/chunk.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t whole_below = 64ULL << 10;  // arrays up to this size are sampled whole
constexpr std::uint64_t sample_bytes = 4ULL << 10;
constexpr std::uint64_t sample_count = 8;
constexpr std::uint64_t most_announced = 1ULL << 20;  // bytes of one part: larger reads are as fast without

/// Digests of everything that this process reads.
std::vector<ReplicaDigest> own_digests(const ReplicatedFiles& files, const std::vector<ParameterId>& parameters,
                                       const Communicator& processes) {
  const auto size = static_cast<std::uint32_t>(processes.size());
  const auto rank = static_cast<std::uint32_t>(processes.rank());
  struct Copy {
    ParameterId parameter;
    Position first;
    Position card;
  };
  std::vector<Copy> mine;
  for (const ParameterId parameter : parameters)
    files.placement.for_each_first(parameter, [&](Position first) {
      for (const Position card : files.placement.holders(parameter, first))
        if (files.process_of(card, size) == rank) mine.push_back({parameter, first, card});
    });
  ReplicaReader reader(files);
  return read_each(
      mine, files.threads,
      [&](const Copy& copy) {
        return reader.will_need(copy.parameter, copy.card, reader.runs(copy.parameter, copy.card));
      },
      [&](const Copy& copy) { return reader.digest(copy.parameter, copy.first, copy.card); });
}

std::vector<ShardCopies> first_differences(std::vector<ReplicaDigest> digests, std::size_t most) {
  std::sort(digests.begin(), digests.end(), [](const ReplicaDigest& a, const ReplicaDigest& b) {
    return std::tuple(a.parameter, a.first, a.card) < std::tuple(b.parameter, b.first, b.card);
  });
  std::vector<ShardCopies> found;
  for (auto begin = digests.begin(); begin != digests.end() && found.size() < most;) {
    const auto end = std::find_if(begin, digests.end(), [&](const ReplicaDigest& digest) {
      return digest.parameter != begin->parameter || digest.first != begin->first;
    });
    const bool is_known = !found.empty() && found.back().front().parameter == begin->parameter;
    const auto differs = [&](const ReplicaDigest& digest) { return !(digest.sum == begin->sum); };
    if (!is_known && std::any_of(begin, end, differs)) found.emplace_back(begin, end);
    begin = end;
  }
  return found;
}

}  // namespace

std::vector<Interval> ReplicaReader::runs(ParameterId parameter, Position card) const {
  return compared_runs(placement_, parameter, card, files_.extent == ReplicaCheck::full,
                       placement_.tensors()[parameter].dtype.size);
}

void ReplicaReader::for_each_region(ParameterId parameter, Position card, Interval run, const Visit& visit) const {
  placement_.for_each_region_of(parameter, card, run, [&](ParameterId, const Region& region) {
    if (!region.fill) visit(region);
  });
}

ReplicaReader::Read ReplicaReader::read(ParameterId parameter, Position card, const Region& region) {
  return read(parameter, card, region, KeySets::both);
}

std::span<const std::byte> ReplicaReader::stored(ParameterId parameter, Position card, Interval run) {
  return read(parameter, card, Region{Box{{0}, {run.size()}}, run.lo, {1}, false}, {}).bytes;
}

ReplicaReader::Read ReplicaReader::read(ParameterId parameter, Position card, const Region& region,
                                        std::optional<KeySets> sums) {
  thread_local Buffer room;
  const std::uint64_t element = placement_.tensors()[parameter].dtype.size;
  const Transfer transfer{
      .card = card,
      .array = placement_.array_of(parameter),
      .parameter = parameter,
      .element = element,
      .source = region,
      .target_strides = row_major_strides(region.box.shape()),
      .place = {.is_linked = !sums, .first = 0, .strides = {}}};  // a run of the array is no box of it
  const std::uint64_t bytes = transfer.bytes();
  if (room.size() < 2 * bytes) room = Buffer(std::max(2 * bytes, 2 * compared_block_bytes));
  const auto scratch = std::span(room.data() + bytes, static_cast<std::size_t>(room.size() - bytes));
  const GatherResult gathered = files_.reader.read(transfer, room.data(), scratch, sums);
  return {gathered.sum, room.first(bytes)};
}

bool ReplicaReader::will_need(ParameterId parameter, Position card, const std::vector<Interval>& runs) const {
  const Tensor& tensor = placement_.tensors()[parameter];
  std::uint64_t elements = 0;
  for (const Interval& run : runs) elements += run.size();
  if (tensor.verbatim || elements > most_announced / std::max<std::uint64_t>(1, tensor.dtype.size)) return true;
  bool is_there = true;
  for (const Interval& run : runs)
    if (!files_.reader.will_need(card, placement_.array_of(parameter),
                                 {run.lo * tensor.dtype.size, run.hi * tensor.dtype.size}))
      is_there = false;
  return is_there;
}

ReplicaDigest ReplicaReader::digest(ParameterId parameter, Position first, Position card) {
  PartialSum sum;
  if (placement_.tensors()[parameter].verbatim) {
    const std::string& stored = placement_.arrays()[placement_.array_of(parameter)].name;
    if (const Dataset* dataset = files_.checkpoint.find(card, stored)) sum = sum_of_value(*dataset);
  } else {
    for (const Interval& run : runs(parameter, card))
      for_each_region(parameter, card, run, [&](const Region& region) { sum += read(parameter, card, region).sum; });
  }
  return {parameter, first, card, sum};
}

std::vector<ParameterId> copied_parameters(const ReplicatedFiles& files, Replicas replicas,
                                           const std::function<bool(const Tensor&)>& is_wanted) {
  const Placement& placement = files.placement;
  std::vector<ParameterId> parameters;
  for (ParameterId parameter = 0; parameter < placement.tensors().size(); ++parameter)
    if (files.is_taken[parameter] && placement.shardings()[parameter].replicas == replicas &&
        placement.copies(parameter) > 1 && is_wanted(placement.tensors()[parameter]))
      parameters.push_back(parameter);
  return parameters;
}

std::vector<ShardCopies> differing_shards(const ReplicatedFiles& files, const std::vector<ParameterId>& parameters,
                                          std::size_t most, Communicator& processes) {
  const auto size = static_cast<std::uint32_t>(processes.size());
  std::vector<ReplicaDigest> mine;
  agree(processes, [&] { mine = own_digests(files, parameters, processes); });
  // Digests of the same shard go to one process.
  std::vector<std::vector<ReplicaDigest>> to_peer(size);
  for (const ReplicaDigest& digest : mine) to_peer[digest.first % size].push_back(digest);
  std::vector<ReplicaDigest> together;
  for (const auto& theirs : exchange_values(std::move(to_peer), processes))
    together.insert(together.end(), theirs.begin(), theirs.end());
  // Then every process gets the first differences of all.
  std::vector<ReplicaDigest> differing;
  for (const auto& theirs : gather_all(first_differences(std::move(together), most), processes))
    for (const ShardCopies& copies : theirs) differing.insert(differing.end(), copies.begin(), copies.end());
  return first_differences(std::move(differing), most);
}

std::vector<Interval> compared_runs(const Placement& placement, ParameterId parameter, Position card, bool is_full,
                                    std::uint64_t element_bytes, std::uint64_t most_bytes) {
  const Interval own = placement.run_of(parameter, card);
  const Shape stored = placement.stored_shape(placement.array_of(parameter), card);
  const bool is_array = own.lo == 0 && own.size() == numel(stored);  // else a part of a flat buffer
  const Shape shape = is_array ? stored : Shape{own.size()};
  const bool is_small = own.size() * element_bytes <= whole_below;
  const ChunkGrid grid(shape, element_bytes, is_full || is_small ? most_bytes : std::min(sample_bytes, most_bytes));
  const bool is_whole = is_full || is_small || grid.count() <= sample_count;
  std::vector<Interval> runs;
  for (std::uint64_t i = 0; i < (is_whole ? grid.count() : sample_count); ++i) {
    const Interval run = grid[is_whole ? i : i * (grid.count() - 1) / (sample_count - 1)];
    runs.push_back({own.lo + run.lo, own.lo + run.hi});
  }
  return runs;
}

}  // namespace ckpt
