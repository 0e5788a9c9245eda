#pragma once

#include <cstdint>
#include <vector>

namespace ckpt {

/// How a table goes from one number of shards to another. Source shard s and target shard t have keys in common only if
/// s = t modulo the greatest common divisor of both numbers, so that the shards fall into as many independent groups. A
/// process that reads a group's sources in order, and appends each line to its target's file, reads everything once,
/// whatever the number of processes.
class Regrouping {
 public:
  /// Throws layout if a number of shards is 0.
  Regrouping(std::uint64_t source_shards, std::uint64_t target_shards);

  std::uint64_t groups() const noexcept { return groups_; }
  /// Return the source shards, and the target shards, of a group, ascending.
  std::vector<std::uint64_t> sources(std::uint64_t group) const;
  std::vector<std::uint64_t> targets(std::uint64_t group) const;
  std::uint64_t target_of(std::uint64_t key) const noexcept { return key % target_shards_; }

 private:
  std::uint64_t source_shards_;
  std::uint64_t target_shards_;
  std::uint64_t groups_;
};

}  // namespace ckpt
