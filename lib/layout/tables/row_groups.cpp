#include "layout/tables/row_groups.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace ckpt {

RowGroups::RowGroups(KeyPlace place, RowOrder order) : place_(std::move(place)) {
  if (order == RowOrder::source) {
    servers_.resize(place_.servers());
    std::iota(servers_.begin(), servers_.end(), std::uint64_t{0});
    for (std::uint64_t server = 1; server <= place_.servers(); ++server) first_.push_back(server);
    return;
  }
  const auto shards = place_.shards();
  if (!shards)
    throw Error(Kind::layout, "order",
                {"\"shard\" with a \"place\" that has no shards",
                 "a last step {\"blocks\": …} or {\"mod\": \"servers\"} after one that bounds its values",
                 "say \"source\", or {\"mod\": N} before the last step"});
  if (*shards > most_shards)
    throw Error(Kind::layout, "order",
                {"\"shard\" with " + std::to_string(*shards) + " shards", "at most " + std::to_string(most_shards),
                 "say \"source\""});
  shards_.resize(*shards);
  std::iota(shards_.begin(), shards_.end(), std::uint64_t{0});
  std::vector<std::uint64_t> server_of = shards_;
  place_.apply_to_shards(server_of);
  is_in_shard_order_ = std::is_sorted(server_of.begin(), server_of.end());
  std::stable_sort(shards_.begin(), shards_.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return server_of[a] < server_of[b]; });
  first_.assign(place_.servers() + 1, 0);
  if (!is_in_shard_order_) groups_.resize(*shards);
  for (std::uint64_t group = 0; group < *shards; ++group) {
    servers_.push_back(server_of[shards_[group]]);
    ++first_[servers_.back() + 1];
    if (!is_in_shard_order_) groups_[shards_[group]] = group;
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

void RowGroups::apply(std::span<std::uint64_t> values) const {
  if (shards_.empty()) return place_.apply(values);
  place_.apply_up_to_shards(values);
  if (is_in_shard_order_) return;
  for (std::uint64_t& value : values)
    if (value != KeyPlace::nowhere) value = groups_[value];
}

std::vector<std::vector<std::uint64_t>> group_offsets(const RowGroups& groups, std::span<const std::uint64_t> rows) {
  std::vector<std::vector<std::uint64_t>> offsets;
  for (std::uint64_t server = 0; server < groups.servers(); ++server) {
    auto& of_server = offsets.emplace_back(1, 0);
    const Interval own = groups.of_server(server);
    for (std::uint64_t group = own.lo; group < own.hi; ++group) of_server.push_back(of_server.back() + rows[group]);
  }
  return offsets;
}

}  // namespace ckpt
