#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/tables/key_place.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Which rows of a table are contiguous on their server: all rows of a server (order `source`), or those of each shard
/// (order `shard`). Groups are numbered server by server, in their order there.
class RowGroups {
 public:
  /// Limit on the shards that a table is grouped by: each batch of rows counts them all.
  static constexpr std::uint64_t most_shards = 1ULL << 20;

  /// Throws layout if order is `shard` and the steps have no shards: the last step is neither `blocks` nor `mod
  /// servers`, or its input is unbounded.
  RowGroups(KeyPlace place, RowOrder order);

  const KeyPlace& place() const noexcept { return place_; }
  std::uint64_t servers() const noexcept { return place_.servers(); }
  std::uint64_t count() const noexcept { return first_.back(); }
  std::uint64_t server_of(std::uint64_t group) const noexcept { return servers_[static_cast<std::size_t>(group)]; }
  /// Returns the numbers of a server's groups.
  Interval of_server(std::uint64_t server) const { return {first_[server], first_[server + 1]}; }
  /// Returns the shard of a group; only for order `shard`.
  std::uint64_t shard_of(std::uint64_t group) const { return shards_[group]; }

  /// Replaces each value, a key or a field, by its group, or by KeyPlace::nowhere.
  void apply(std::span<std::uint64_t> values) const;

 private:
  KeyPlace place_;
  std::vector<std::uint64_t> shards_;    // by group; empty: the groups are the servers
  std::vector<std::uint64_t> groups_;    // by shard, if groups are not in shard order
  std::vector<std::uint64_t> servers_;   // by group
  std::vector<std::uint64_t> first_{0};  // first group of each server, and the total at the end
  bool is_in_shard_order_ = false;       // each server's shards follow those of the server before it
};

/// Returns where each server's groups begin, and the end, from the number of rows of each group.
std::vector<std::vector<std::uint64_t>> group_offsets(const RowGroups& groups, std::span<const std::uint64_t> rows);

}  // namespace ckpt
