#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/expectation.hpp"
#include "jobs/progress.hpp"
#include "jobs/resources.hpp"
#include "jobs/selection.hpp"
#include "layout/prefix_change.hpp"
#include "proof/mismatch.hpp"
#include "proof/replicas.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// What differs about one parameter of two checkpoints, A and B.
struct Difference {
  enum class What {
    only_in_a,
    only_in_b,
    dtype,
    shape,
    elements,
    value,      ///< of a parameter that has no elements of fixed size
    keys_of_a,  ///< of a table: only A has them
    keys_of_b,
    rows,  ///< of a table, under keys that both have
  };
  What what = What::elements;
  std::string parameter;
  std::string a;  ///< what A has: a dtype, a shape, the first element that differs, keys
  std::string b;
  std::vector<std::uint64_t> cards;  ///< ids of B's cards that differ; for elements and values

  // For elements only; of tables `count` and `compared` are keys:
  Extents first;               ///< the index of the first that differs, in row-major order of the logical tensor
  std::uint64_t count = 0;     ///< how many differ, in all copies that B holds
  std::uint64_t compared = 0;  ///< of how many
  std::uint64_t copies = 1;
  std::optional<Distance> largest;  ///< where they are numbers
};

/// Two checkpoints to be compared: every copy in B with what A holds.
struct CompareJob {
  CheckpointPlace a;
  CheckpointPlace b;
  NameChoice names;                              ///< of A's parameters; what B alone has is chosen by B's names
  ReplicaCheck replicas = ReplicaCheck::sample;  ///< how far A's are compared before one is read
  std::optional<Tolerance> tolerance;            ///< with one, floating-point dtypes may differ
  Resources resources;
  std::optional<Expectation> expectation = {};  ///< of either side
  std::vector<Pattern> first_copies = {};       ///< of either side: Checkpoint::take_first_copies
};

struct CompareReport {
  std::uint64_t parameters = 0;             ///< that were compared: both have them, in one shape
  std::uint64_t bytes = 0;                  ///< of their logical tensors in A
  std::vector<Difference> differences;      ///< by name, in natural order
  std::optional<PrefixChange> prefix = {};  ///< that most names of A alone have, or of B
  Deviations a_deviations = {};             ///< from the reference, of what counts of A, under B's names
  Deviations b_deviations = {};

  /// Whether they hold the same tensors, and those that are expected.
  bool is_same() const { return differences.empty() && a_deviations.lines.empty() && b_deviations.lines.empty(); }
};

/// Compares names, dtypes, shapes, and every element of every copy that B holds, padding left out. Collective; the
/// result is the same on every process, and for any number of them. Throws as `reshard` does.
CompareReport compare(const CompareJob& job, Stores& stores, Communicator& processes, Counters& counters);

}  // namespace ckpt
