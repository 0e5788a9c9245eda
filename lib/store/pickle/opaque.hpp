#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/pickle/pickle.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// The known facts about an opaque value, whose class is unknown.
struct Opaque {
  std::uint64_t digest = 0;         ///< of everything in it, except where storages lie and on which device
  std::uint64_t storage_bytes = 0;  ///< bytes of the tensors in it
};

/// Returns the limit on the bytes of tensors in all objects of a tree, since objects are carried whole: an eighth of
/// the memory that this process may use (memory_allowed).
std::uint64_t most_object_bytes();

/// Throws input if objects exceed that limit.
void check_object_bytes(std::uint64_t bytes);

/// Returns the memory that a child needs to read and send objects with this many bytes of tensors, or at the limit if
/// that is less.
std::uint64_t memory_of_child(std::uint64_t object_bytes);

class OpaqueSurvey {
 public:
  /// Both arguments must outlive it.
  OpaqueSurvey(const Pickle& pickle, const Storages& storages);

  /// Takes time in proportion to the contents of the value.
  Opaque of(PickleId value);

  /// Returns the place of the storage that a persistent node names; nothing for other nodes, and if there is no such
  /// storage.
  std::optional<Interval> storage(PickleId persistent) const;

 private:
  void add(std::uint64_t number) noexcept;
  void add(std::string_view text) noexcept;
  void look(PickleId id);

  const Pickle& pickle_;
  const Storages& storages_;
  std::vector<std::uint32_t> seen_in_;  // by node: the number of the last value in which it was seen
  std::uint32_t value_ = 0;
  std::vector<PickleId> to_visit_;
  Opaque found_;
};

}  // namespace ckpt::torch
