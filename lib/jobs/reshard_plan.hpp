#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jobs/like_model.hpp"
#include "jobs/types/expectation.hpp"
#include "jobs/types/memory_shares.hpp"
#include "jobs/types/reshard_job.hpp"
#include "layout/placement/resolve.hpp"
#include "plan/chunk_casts.hpp"
#include "plan/planner.hpp"
#include "plan/write_shares.hpp"
#include "store/stores.hpp"
#include "tables/phase/table_plan.hpp"

namespace ckpt {

/// A checkpoint from which only tables are taken: another one supplies the parameters.
struct TableLayerSource {
  Checkpoint checkpoint;
  Resolved resolved;
};

/// Both sides of a job: the source, and what it is to become.
struct ReshardSides {
  ExpectedTensors expected;
  Checkpoint checkpoint;  ///< supplies all but tables: the newest layer that has anything else
  Resolved source = {};
  Selection selection = {};
  Store* store = nullptr;       ///< of the output's format
  Store* indexed_by = nullptr;  ///< of the source, if its directory has an index
  Resolved target = {};
  ModelDirectory model = {};     ///< for an output like a model's directory; what else lies there on process 0 alone
  ManifestHistory history = {};  ///< that the output's manifest keeps
  std::vector<Pattern> dropped = {};  ///< values that are left out on purpose
  std::string index_name = {};        ///< of the file that says which file holds what; empty: there is none
  TablePlan tables = {};
  std::vector<TableLayerSource> other_layers = {};  ///< oldest first
  std::size_t layer = 0;                            ///< number of `checkpoint` among all

  /// All checkpoints that are read: oldest first, or in the order in which they are averaged.
  std::vector<const Checkpoint*> checkpoints() const;
};

/// Inputs that a job has read before it resolves its sides. Null: it reads them then.
struct ReadBefore {
  const Checkpoint* source = nullptr;
  const ExpectedTensors* expected = nullptr;
};

/// Opens the source and resolves both layouts; writes nothing. Collective. Throws as `reshard` does.
ReshardSides resolve_sides(const ReshardJob& job, const ReadBefore& before, Stores& stores, Communicator& processes,
                           Counters& counters);

/// Warns of oddities in the layouts.
void warn_of_layouts(const ReshardJob& job, const Stores& stores, const ReshardSides& sides);

/// The exchange that the job asks for. `automatic` becomes messages if several processes write to a pipe: only one of
/// them can write, and the others only read. It also does if there are tables, unless every process sees every source
/// file: a GPU has no part in what keys decide.
ExchangeKind wanted_exchange(const ReshardJob& job, bool has_tables, bool is_shared, int processes);

/// For each of the source's parameters, whether it is taken and outside tables: tables have each row once, so nothing
/// of theirs can be compared with copies.
std::vector<bool> moved_by_regions(const ReshardSides& sides);

/// The pairs of the source's parameters that are both taken and that either layout declares equal.
std::vector<Equality> equal_pairs(const ReshardSides& sides);

/// How the bytes get from one side to the other, the same on every process. It refers to `sides`, which must outlive it
/// without being moved.
struct MovePlan {
  /// `hosts`: each process's (host_numbers).
  MovePlan(const ReshardSides& sides, ExchangeKind kind, const ReshardJob& job,
           const std::vector<std::uint32_t>& hosts);

  Readers readers;
  Planner planner;
  ChunkCasts casts;
  WriteShares shares;
};

/// Half of the memory is for the source, half is staging, unless the source has large chunks. `holds_texts`: long texts
/// are held as values are (TargetFiles::hold_texts).
MemoryShares divide_memory(std::uint64_t memory_bytes, const ReshardSides& sides, const Planner& planner,
                           bool holds_texts);

}  // namespace ckpt
