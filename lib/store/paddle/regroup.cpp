#include "store/paddle/regroup.hpp"

#include <numeric>

#include "base/error.hpp"

namespace ckpt {

namespace {

std::vector<std::uint64_t> shards_of_group(std::uint64_t group, std::uint64_t groups, std::uint64_t shards) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t shard = group; shard < shards; shard += groups) found.push_back(shard);
  return found;
}

}  // namespace

Regrouping::Regrouping(std::uint64_t source_shards, std::uint64_t target_shards)
    : source_shards_(source_shards), target_shards_(target_shards), groups_(std::gcd(source_shards, target_shards)) {
  if (source_shards == 0 || target_shards == 0)
    throw Error(Kind::layout, "shard_num", {"0", "1 or more", "take shard_num from the trainer's configuration"});
}

std::vector<std::uint64_t> Regrouping::sources(std::uint64_t group) const {
  return shards_of_group(group, groups_, source_shards_);
}

std::vector<std::uint64_t> Regrouping::targets(std::uint64_t group) const {
  return shards_of_group(group, groups_, target_shards_);
}

}  // namespace ckpt
