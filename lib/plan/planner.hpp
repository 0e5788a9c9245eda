#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "layout/maps/tensor_links.hpp"
#include "plan/chunk.hpp"
#include "plan/readers.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

/// The place of a transfer's elements in the target's tensor, if their indices there differ from the source's.
struct TensorPlace {
  bool is_linked = false;   ///< else the transfer's box is one of both tensors, and the rest is empty
  std::uint64_t first = 0;  ///< the element that index 0 of the transfer's box would be
  Shape strides;            ///< by dimension of the transfer's box
};

/// A box of a parameter to be copied from a source card's array into a chunk: one strided copy.
struct Transfer {
  Position card = 0;                ///< of the source
  ArrayId array = 0;                ///< of the source
  ParameterId parameter = 0;        ///< of the source
  std::uint64_t element = 0;        ///< bytes of one element
  Region source;                    ///< the box (linked: of the link's axes), and its place in the source array
  std::uint64_t target_offset = 0;  ///< where its first element goes, in bytes from the chunk's start
  Shape target_strides;             ///< elements
  ParameterId target = 0;           ///< the target's parameter that the box belongs to; several may have one source
  TensorPlace place = {};
  bool is_first_copy = false;  ///< it goes to the first of the copies that the output has (FileWorkload)

  std::uint64_t bytes() const { return numel(source.box.shape()) * element; }
  StridedCopy copy() const { return strided_copy(source.box.shape(), source.strides, target_strides, element); }
};

/// Computes the transfers of each chunk when its turn comes, so that nothing as large as the job is ever in memory. It
/// is pure, deterministic and thread-safe. It refers to placements and readers, which must outlive it.
class Planner {
 public:
  /// For each target parameter, null or where its elements lie in the source's parameters; empty: null for all.
  using Links = std::vector<std::shared_ptr<const TensorLinks>>;

  /// source_of[p] is the source's parameter of which target parameter p takes its elements, of the same shape. With
  /// links[p] it is one of several, of any shape, which all have one dtype. In a chunk of the target, elements have the
  /// source's dtype.
  Planner(const Placement& source, const Placement& target, std::vector<ParameterId> source_of, const Readers& readers,
          Links links = {})
      : source_(source),
        target_(target),
        source_of_(std::move(source_of)),
        readers_(readers),
        links_(std::move(links)) {}

  const Placement& source() const noexcept { return source_; }
  const Placement& target() const noexcept { return target_; }
  ParameterId source_of(ParameterId target_parameter) const noexcept { return source_of_[target_parameter]; }
  /// Null: the elements of `source_of` have the same indices.
  const TensorLinks* links(ParameterId target_parameter) const noexcept {
    return links_.empty() ? nullptr : links_[target_parameter].get();
  }
  /// What becomes of a target parameter's elements on the way; null: they stay as they are.
  const Scaling* scaling(ParameterId target_parameter) const noexcept {
    const TensorLinks* const of = links(target_parameter);
    return of != nullptr && of->scaling() ? &*of->scaling() : nullptr;
  }
  /// Visits all of the source's parameters that a target parameter takes elements from.
  void for_each_source(ParameterId target_parameter, const std::function<void(ParameterId)>& visit) const;

  using Visit = std::function<void(const Transfer&)>;
  /// Returns whether the transfers of a chunk cover all of its elements.
  bool fills(const Chunk& chunk) const;
  /// Returns the bytes, as they would be read, of a chunk's elements that belong to a tensor but have no source:
  /// padding of tensors that are made by a map.
  std::uint64_t unlinked_bytes(const Chunk& chunk) const;

  /// Calls `visit` for each transfer of a chunk that process `writer` writes. Returns the bytes that they fill, which
  /// are fewer than the chunk's if it has padding. Throws layout if an element has no source (never, after resolving).
  std::uint64_t for_each_transfer(const Chunk& chunk, std::uint32_t writer, const Visit& visit) const;
  /// As above for one region of a target parameter. Its offset and strides say where its elements go in a buffer of the
  /// source's elements that begins at element `begin`.
  std::uint64_t for_each_transfer(ParameterId parameter, const Region& wanted, std::uint64_t begin,
                                  std::uint32_t writer, const Visit& visit) const;

 private:
  std::uint64_t linked_elements(const TensorLinks& links, const Box& box) const;
  std::uint64_t for_each_linked(ParameterId parameter, const Region& wanted, std::uint64_t begin, std::uint32_t writer,
                                const Visit& visit) const;
  [[noreturn]] void fail_absent(ParameterId parameter, const Box& box, std::uint64_t found,
                                std::uint64_t elements) const;

  const Placement& source_;
  const Placement& target_;
  std::vector<ParameterId> source_of_;
  const Readers& readers_;
  Links links_;
};

}  // namespace ckpt
