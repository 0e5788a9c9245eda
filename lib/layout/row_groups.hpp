#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/key_place.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Which rows of a table lie together on their server: all of a server's (order `source`), or those of each shard
/// (order `shard`). Groups are numbered server by server, in the order in which they lie there.
class RowGroups {
 public:
  /// Shards that a table can be grouped by at most: each batch of rows counts them all.
  static constexpr std::uint64_t most_shards = 1ULL << 20;

  /// Throws layout where order is `shard` and the steps have none: the last is neither `blocks` nor `mod servers`, or
  /// what it is applied to has no bound.
  RowGroups(KeyPlace place, RowOrder order);

  const KeyPlace& place() const noexcept { return place_; }
  std::uint64_t servers() const noexcept { return place_.servers(); }
  std::uint64_t count() const noexcept { return first_.back(); }
  std::uint64_t server_of(std::uint64_t group) const noexcept { return servers_[static_cast<std::size_t>(group)]; }
  /// Numbers of a server's groups.
  Interval of_server(std::uint64_t server) const { return {first_[server], first_[server + 1]}; }
  /// The shard that a group is; only of order `shard`.
  std::uint64_t shard_of(std::uint64_t group) const { return shards_[group]; }

  /// Replaces each value, a key or a field, by its group, or by KeyPlace::nowhere.
  void apply(std::span<std::uint64_t> values) const;

 private:
  KeyPlace place_;
  std::vector<std::uint64_t> shards_;    // of each group; empty: the groups are the servers
  std::vector<std::uint64_t> groups_;    // of each shard, where they are not in shard order
  std::vector<std::uint64_t> servers_;   // of each group
  std::vector<std::uint64_t> first_{0};  // group of each server; the number of all at the end
  bool is_in_shard_order_ = false;       // each server has the shards that follow those of the server before it
};

/// Where each server's groups begin, and the end, from the rows of each group.
std::vector<std::vector<std::uint64_t>> group_offsets(const RowGroups& groups, std::span<const std::uint64_t> rows);

}  // namespace ckpt
