#include "layout/language/shared_cards.hpp"

#include <algorithm>

namespace ckpt {

namespace {

bool share_one(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i] < b[j] ? ++i : ++j)
    if (a[i] == b[j]) return true;
  return false;
}

}  // namespace

bool share_a_card(const std::optional<At>& a, const std::optional<At>& b) {
  if (!a || !b) return true;
  return std::all_of(a->begin(), a->end(), [&](const auto& entry) {
    const auto other = b->find(entry.first);
    return other == b->end() || share_one(entry.second, other->second);
  });
}

}  // namespace ckpt
