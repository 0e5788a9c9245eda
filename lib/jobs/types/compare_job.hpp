#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "compare/mismatch.hpp"
#include "compare/replicas.hpp"
#include "jobs/types/expectation.hpp"
#include "jobs/types/name_mapping.hpp"
#include "jobs/types/progress.hpp"
#include "jobs/types/resources.hpp"
#include "jobs/types/selection.hpp"
#include "jobs/types/weighted_place.hpp"
#include "layout/names/prefix_change.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// A difference in one parameter of two checkpoints, A and B.
struct Difference {
  enum class What {
    only_in_a,
    only_in_b,
    dtype,
    shape,
    elements,
    value,      ///< for a parameter without elements of fixed size
    keys_of_a,  ///< for a table: only A has these keys
    keys_of_b,
    rows,  ///< for a table: rows under keys that both have
  };
  What what = What::elements;
  std::string parameter = {};
  std::string a = {};  ///< A's side: a dtype, a shape, the first element that differs, keys
  std::string b = {};
  std::vector<std::uint64_t> cards = {};  ///< ids of B's cards that differ; for elements and values

  // For elements only; for tables, `count` and `compared` count keys:
  Shape first = {};             ///< index of the first element that differs, in row-major order of the logical tensor
  std::string first_in_a = {};  ///< that element in A, through a map of names: "linear_qkv.weight[768, 0]"
  std::uint64_t count = 0;      ///< how many differ, in all copies that B holds
  std::uint64_t compared = 0;   ///< out of how many
  std::uint64_t copies = 1;
  std::optional<Distance> largest = {};  ///< if they are numbers
};

/// Two checkpoints to be compared: every copy in B with A's data.
struct CompareJob {
  CheckpointPlace a;
  CheckpointPlace b;
  std::vector<WeightedPlace> average = {};       ///< as ReshardJob::average, for A
  NameChoice names = {};                         ///< applies to A's parameters; to those that only B has, by B's names
  ReplicaCheck replicas = ReplicaCheck::sample;  ///< how far A's copies are compared before one is read
  std::optional<DType> dequantised = {};         ///< A's quantised weights are numbers of this type
  std::optional<Tolerance> tolerance = {};       ///< with one, floating-point dtypes may differ
  bool is_rounded = false;                       ///< they may, too: A's elements, rounded to B's dtype, are to be B's
  Resources resources = {};
  std::optional<Expectation> expectation = {};     ///< for either side
  std::vector<Pattern> first_copies = {};          ///< for either side: Checkpoint::take_first_copies
  MapChoice map = {};                              ///< of names, from A to B
  std::vector<std::filesystem::path> models = {};  ///< that may have a config.json for the map of an average's sources
  bool is_like_model = false;                      ///< where no map is said, it asks for one
  bool is_explained = true;                        ///< else only differences count: no notes, no likeness
};

struct CompareReport {
  std::uint64_t parameters = 0;             ///< compared ones: both have them, in one shape
  std::uint64_t bytes = 0;                  ///< of their logical tensors in A
  std::vector<Difference> differences;      ///< by name, in natural order
  std::string likeness = {};                ///< where a map's tensors differ: what samples say of it
  std::optional<PrefixChange> prefix = {};  ///< in most names that only A has, or only B
  Deviations a_deviations = {};             ///< of A's chosen parameters from the reference, under B's names
  Deviations b_deviations = {};

  /// Whether both hold the same tensors, and the expected ones.
  bool is_same() const { return differences.empty() && a_deviations.lines.empty() && b_deviations.lines.empty(); }
};

}  // namespace ckpt
