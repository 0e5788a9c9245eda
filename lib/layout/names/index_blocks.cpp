#include "layout/names/index_blocks.hpp"

#include <algorithm>
#include <numeric>

namespace ckpt {

IndexBlocks::IndexBlocks(const IndexRule& rule, std::uint64_t coordinates, std::uint64_t total)
    : is_local_(rule.numbering == Numbering::local),
      restarts_(rule.restart),
      first_(rule.first),
      total_(total),
      coordinates_(coordinates),
      chunks_(rule.virtual_chunks) {
  if (rule.counts.empty()) {
    each_ = total / chunks_ / coordinates_;
  } else {
    starts_.resize(rule.counts.size() + 1, 0);
    std::partial_sum(rule.counts.begin(), rule.counts.end(), starts_.begin() + 1);
  }
}

std::uint64_t IndexBlocks::size(std::uint64_t coordinate) const {
  return starts_.empty() ? each_ * chunks_ : starts_[coordinate + 1] - starts_[coordinate];
}

std::uint64_t IndexBlocks::end(std::uint64_t coordinate) const {
  if (!is_local_) return total_;
  return first_ + std::min(restarts_ ? each_ : size(coordinate), ~std::uint64_t{0} - first_);
}

std::optional<std::uint64_t> IndexBlocks::index(const StoredNumbers& called) const {
  if (called.number < first_ || called.number >= end(called.coordinate) || called.chunk >= chunks_) return std::nullopt;
  if (!is_local_) return called.number;
  const std::uint64_t local = called.number - first_;
  if (!starts_.empty()) return starts_[called.coordinate] + local;
  const std::uint64_t chunk = restarts_ ? called.chunk : local / each_;
  return (chunk * coordinates_ + called.coordinate) * each_ + local % each_;
}

IndexBlocks::StoredNumbers IndexBlocks::called(std::uint64_t index) const {
  std::uint64_t coordinate = 0;
  std::uint64_t chunk = 0;
  std::uint64_t local = 0;
  if (starts_.empty()) {
    const std::uint64_t block = index / each_;
    coordinate = block % coordinates_;
    chunk = block / coordinates_;
    local = index % each_ + (restarts_ ? 0 : chunk * each_);
  } else {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);  // never an empty block
    coordinate = static_cast<std::uint64_t>(after - starts_.begin()) - 1;
    local = index - starts_[coordinate];
  }
  return {coordinate, is_local_ ? first_ + local : index, restarts_ ? chunk : 0};
}

}  // namespace ckpt
