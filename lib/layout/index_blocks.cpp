#include "layout/index_blocks.hpp"

#include <algorithm>
#include <numeric>

namespace ckpt {

IndexBlocks::IndexBlocks(const IndexRule& rule, std::uint64_t coordinates)
    : coordinates_(coordinates), chunks_(rule.virtual_chunks) {
  if (rule.counts.empty()) {
    each_ = rule.total / chunks_ / coordinates_;
  } else {
    starts_.resize(rule.counts.size() + 1, 0);
    std::partial_sum(rule.counts.begin(), rule.counts.end(), starts_.begin() + 1);
  }
}

std::uint64_t IndexBlocks::size(std::uint64_t coordinate) const {
  return starts_.empty() ? each_ * chunks_ : starts_[coordinate + 1] - starts_[coordinate];
}

std::uint64_t IndexBlocks::global(const Place& place) const {
  if (!starts_.empty()) return starts_[place.coordinate] + place.local;
  const std::uint64_t chunk = place.local / each_;
  return (chunk * coordinates_ + place.coordinate) * each_ + place.local % each_;
}

IndexBlocks::Place IndexBlocks::place(std::uint64_t global) const {
  if (!starts_.empty()) {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), global);  // never an empty block's
    const auto coordinate = static_cast<std::uint64_t>(after - starts_.begin()) - 1;
    return {coordinate, global - starts_[coordinate]};
  }
  const std::uint64_t block = global / each_;
  return {block % coordinates_, block / coordinates_ * each_ + global % each_};
}

}  // namespace ckpt
