#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/job.hpp"
#include "engine/mismatch.hpp"
#include "exchange/communicator.hpp"

namespace ckpt {

/// What differs about one parameter of two checkpoints, A and B.
struct Difference {
  enum class What {
    only_in_a,
    only_in_b,
    dtype,
    shape,
    elements,
    value,  ///< of a parameter that has no elements of fixed size
  };
  What what = What::elements;
  std::string parameter;
  std::string a;  ///< what A has: a dtype, a shape, the first element that differs
  std::string b;
  std::vector<std::uint64_t> cards;  ///< ids of B's cards that differ; for elements and values

  // For elements only:
  Extents first;               ///< the index of the first that differs, in row-major order of the logical tensor
  std::uint64_t count = 0;     ///< how many differ, in all copies that B holds
  std::uint64_t compared = 0;  ///< of how many
  std::uint64_t copies = 1;
  std::optional<Distance> largest;  ///< where they are numbers
};

struct CompareReport {
  std::uint64_t parameters = 0;         ///< that were compared: both have them, in one shape
  std::uint64_t bytes = 0;              ///< of their logical tensors in A
  std::vector<Difference> differences;  ///< by name, as people count
};

/// Compares A, which is job.source in job.source_layout, with B, which is job.output in job.target.layout (absent: the
/// layouts that they carry): names, dtypes, shapes, and every element of every copy that B holds, padding left out. Of
/// A one copy is read, after job.replicas has been seen to. job.only and job.drop choose by A's names, and what B alone
/// has by B's; job.rename speaks of A's. With a tolerance floating-point dtypes may differ. Collective; the result is
/// the same on every process, and for any number of them. Throws as `run` does.
CompareReport compare(const Job& job, const std::optional<Tolerance>& tolerance, Communicator& processes,
                      Counters& counters);

}  // namespace ckpt
