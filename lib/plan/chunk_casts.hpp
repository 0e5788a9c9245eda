#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/rare.hpp"
#include "plan/planner.hpp"
#include "tensor/cast.hpp"

namespace ckpt {

/// Casts chunks, in the memory in which they are put together: elements arrive in the source's dtypes, and leave in the
/// target's. An element takes a *cell* of it, as large as the larger of the two; the elements that are read in one
/// dtype lie without gaps at the end of their cells, so that those that are written never catch up with them. Threads
/// may share one.
class ChunkCasts {
 public:
  /// Every parameter whose dtype is not its source's is cast; both must be floating-point then. The planner must
  /// outlive this.
  explicit ChunkCasts(const Planner& planner);

  bool is_cast(ArrayId array) const { return is_cast_[array]; }
  /// Bytes of a cell of each target array: an element's own where nothing is cast.
  const std::vector<std::uint64_t>& cells() const noexcept { return cells_; }

  /// Elements of a chunk that are read in one dtype.
  struct Part {
    Interval elements;          ///< of the stored array
    std::uint64_t element = 0;  ///< bytes of one as it is read
    std::uint64_t offset = 0;   ///< where the first lies, in bytes from the chunk's start
    ParameterId parameter = 0;  ///< of the target, one of those that it holds
  };
  /// The part of a chunk that holds what it has of a parameter of the target.
  Part part_of(const Chunk& chunk, ParameterId parameter) const;

  /// Leads a transfer of a parameter of the target, as the planner gives it, to its place in such memory.
  void place(const Chunk& chunk, ParameterId parameter, Transfer& transfer) const;

  /// How many finite elements of a parameter became infinite; each element of a tensor once, whatever its copies.
  using Overflows = std::vector<std::pair<ParameterId, std::uint64_t>>;

  /// Casts a chunk that lies at `memory` to `target`, which ends there no later: padding becomes zeros.
  Overflows run(const Chunk& chunk, const std::byte* memory, std::byte* target) const;

 private:
  std::vector<Part> parts(const Chunk& chunk) const;
  Overflows count(const Chunk& chunk, const std::vector<bool>& is_infinite) const;

  const Planner& planner_;
  const Placement& target_;
  std::vector<Rare<Cast>> casts_;  // by parameter
  std::vector<bool> is_cast_;      // by array, as the following
  std::vector<bool> is_mixed_;     // members have several dtypes in the source
  std::vector<std::uint64_t> cells_;
};

}  // namespace ckpt
