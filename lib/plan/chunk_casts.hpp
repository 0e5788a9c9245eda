#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/boxed_optional.hpp"
#include "plan/planner.hpp"
#include "tensor/cast.hpp"

namespace ckpt {

/// Casts chunks in the memory where they are assembled: elements arrive in the source's dtypes, and leave in the
/// target's. Each element has a *cell*, as large as the larger of the two. Elements that are read in one dtype lie
/// without gaps at the end of their cells, so that the elements being written never overtake them. Threads may share an
/// object.
class ChunkCasts {
 public:
  /// Every parameter whose dtype differs from its source's is cast, and every one that its links scale; both must be
  /// floating-point then. The planner must outlive this object.
  explicit ChunkCasts(const Planner& planner);

  bool is_cast(ArrayId array) const { return is_cast_[array]; }
  /// Returns the bytes of a cell of each target array: the size of an element if nothing is cast.
  const std::vector<std::uint64_t>& cells() const noexcept { return cells_; }

  /// The elements of a chunk that are read in one dtype.
  struct Part {
    Interval elements;          ///< of the stored array
    std::uint64_t element = 0;  ///< bytes of one, as read
    std::uint64_t offset = 0;   ///< place of the first, in bytes from the chunk's start
    ParameterId parameter = 0;  ///< one of the target's parameters that the part contains
  };
  /// Returns the part of a chunk that contains its elements of a parameter of the target.
  Part part_of(const Chunk& chunk, ParameterId parameter) const;

  /// Redirects a transfer of a parameter of the target, as the planner gives it, to its place in such memory.
  void place(const Chunk& chunk, ParameterId parameter, Transfer& transfer) const;

  /// The number of finite elements of each parameter that became infinite; counts each element of a tensor once,
  /// whatever its copies.
  using Overflows = std::vector<std::pair<ParameterId, std::uint64_t>>;

  /// Casts a chunk from `memory` to `target`, which ends no later there: padding becomes zeros.
  Overflows run(const Chunk& chunk, const std::byte* memory, std::byte* target) const;

 private:
  std::vector<Part> parts(const Chunk& chunk) const;
  void clear_padding(const Chunk& chunk, std::byte* target) const;
  Overflows count(const Chunk& chunk, const std::vector<bool>& is_infinite) const;

  const Planner& planner_;
  const Placement& target_;
  std::vector<BoxedOptional<Cast>> casts_;  // by parameter
  std::vector<bool> is_cast_;               // by array, as the next two
  std::vector<bool> adds_;                  // something to elements, and so to padding
  std::vector<bool> is_mixed_;              // members have several dtypes in the source
  std::vector<std::uint64_t> cells_;
};

}  // namespace ckpt
