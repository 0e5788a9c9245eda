#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/torch/pickle.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// What is in a value that nobody understands.
struct Opaque {
  std::uint64_t digest = 0;         ///< of all that it says, but for where storages lie and on which device
  std::uint64_t storage_bytes = 0;  ///< of tensors in it
};

/// How much tensors in the objects of a tree may have, all together, as they are carried as a whole: an eighth of the
/// memory that this process may have (memory_allowed).
std::uint64_t most_object_bytes();

/// Throws input where objects have more.
void check_object_bytes(std::uint64_t bytes);

/// What a child needs to read and send objects in which tensors have as much, or as they may have where that is less.
std::uint64_t memory_of_child(std::uint64_t object_bytes);

class OpaqueSurvey {
 public:
  /// Both must outlive it.
  OpaqueSurvey(const Pickle& pickle, const Storages& storages);

  /// Takes time in proportion to what the value holds.
  Opaque of(PickleId value);

  /// Where the storage lies that a persistent node names; nothing for other nodes, and where there is none.
  std::optional<Interval> storage(PickleId persistent) const;

 private:
  void add(std::uint64_t number) noexcept;
  void add(std::string_view text) noexcept;
  void look(PickleId id);

  const Pickle& pickle_;
  const Storages& storages_;
  std::vector<std::uint32_t> seen_in_;  // by node: the number of the value that it was last seen in
  std::uint32_t value_ = 0;
  std::vector<PickleId> to_visit_;
  Opaque found_;
};

}  // namespace ckpt::torch
