#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compare/replicas.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// The most bytes that are compared at once.
inline constexpr std::uint64_t compared_block_bytes = 256ULL << 10;

/// The stored runs of a card's part of a parameter that are compared: all of it in blocks, or spread-out samples.
/// `element_bytes`: the larger size if two dtypes are compared; a block has at most `most_bytes`.
std::vector<Interval> compared_runs(const Placement& placement, ParameterId parameter, Position card, bool is_full,
                                    std::uint64_t element_bytes, std::uint64_t most_bytes = compared_block_bytes);

/// The digest of one card's copy of a parameter's shard.
struct ReplicaDigest {
  ParameterId parameter = 0;
  Position first = 0;  ///< the card of the first copy that holds the shard
  Position card = 0;
  PartialSum sum;
};

/// Reads the parts of parameters with several copies that are compared.
class ReplicaReader {
 public:
  /// `files` must outlive it.
  explicit ReplicaReader(const ReplicatedFiles& files) : files_(files), placement_(files.placement) {}

  /// The stored runs of a card's part of a parameter that are compared: all of it, or spread-out samples.
  std::vector<Interval> runs(ParameterId parameter, Position card) const;

  using Visit = std::function<void(const Region& region)>;
  void for_each_region(ParameterId parameter, Position card, Interval run, const Visit& visit) const;

  struct Read {
    PartialSum sum;
    std::span<const std::byte> bytes;  ///< in row-major order; valid until this thread's next call
  };
  Read read(ParameterId parameter, Position card, const Region& region);
  /// A run of a card's part of a parameter, as stored in the file; valid until this thread's next call.
  std::span<const std::byte> stored(ParameterId parameter, Position card, Interval run);

  /// Advice: these runs are read soon, if they are few bytes. Returns whether there was nothing to ask for.
  bool will_need(ParameterId parameter, Position card, const std::vector<Interval>& runs) const;

  ReplicaDigest digest(ParameterId parameter, Position first, Position card);

 private:
  Read read(ParameterId parameter, Position card, const Region& region, std::optional<KeySets> sums);

  const ReplicatedFiles& files_;
  const Placement& placement_;
};

/// The chosen parameters that have several copies, whose rule says `replicas`, and that `is_wanted` accepts; ascending.
std::vector<ParameterId> copied_parameters(const ReplicatedFiles& files, Replicas replicas,
                                           const std::function<bool(const Tensor&)>& is_wanted);

/// The digests of all cards that hold one shard.
using ShardCopies = std::vector<ReplicaDigest>;

/// For each of these parameters whose copies differ, up to `most` of them, the first shard on which not all cards
/// agree, in the order of the parameters. One process that sees a copy reads it once; only digests travel. Collective;
/// the same on every process.
std::vector<ShardCopies> differing_shards(const ReplicatedFiles& files, const std::vector<ParameterId>& parameters,
                                          std::size_t most, Communicator& processes);

}  // namespace ckpt
