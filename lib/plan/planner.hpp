#pragma once

#include <functional>
#include <vector>

#include "plan/chunk.hpp"
#include "plan/readers.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

/// A box of a parameter to be copied from a source card's array into a chunk: one strided copy.
struct Transfer {
  Position card = 0;                ///< of the source
  ArrayId array = 0;                ///< of the source
  ParameterId parameter = 0;        ///< of the source
  std::uint64_t element = 0;        ///< bytes of one element
  Region source;                    ///< the box, and its place in the source array
  std::uint64_t target_offset = 0;  ///< where its first element goes, in bytes from the chunk's start
  Shape target_strides;             ///< elements
  ParameterId target = 0;           ///< the target's parameter that the box belongs to; several may have one source

  std::uint64_t bytes() const { return numel(source.box.shape()) * element; }
  StridedCopy copy() const { return strided_copy(source.box.shape(), source.strides, target_strides, element); }
};

/// Computes the transfers of each chunk when its turn comes, so that nothing as large as the job is ever in memory. It
/// is pure, deterministic and thread-safe. It refers to placements and readers, which must outlive it.
class Planner {
 public:
  /// source_of[p] is the source's parameter that target parameter p takes its elements from (of the same shape); in a
  /// chunk of the target they have the source's dtype.
  Planner(const Placement& source, const Placement& target, std::vector<ParameterId> source_of, const Readers& readers)
      : source_(source), target_(target), source_of_(std::move(source_of)), readers_(readers) {}

  const Placement& source() const noexcept { return source_; }
  const Placement& target() const noexcept { return target_; }
  ParameterId source_of(ParameterId target_parameter) const noexcept { return source_of_[target_parameter]; }

  using Visit = std::function<void(const Transfer&)>;
  /// Returns whether the transfers of a chunk cover all of its elements.
  bool fills(const Chunk& chunk) const;

  /// Calls `visit` for each transfer of a chunk that process `writer` writes. Returns the bytes that they fill, which
  /// are fewer than the chunk's if it has padding. Throws layout if an element has no source (never, after resolving).
  std::uint64_t for_each_transfer(const Chunk& chunk, std::uint32_t writer, const Visit& visit) const;

 private:
  const Placement& source_;
  const Placement& target_;
  std::vector<ParameterId> source_of_;
  const Readers& readers_;
};

}  // namespace ckpt
