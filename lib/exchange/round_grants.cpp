#include "exchange/round_grants.hpp"

#include <algorithm>

namespace ckpt {

std::vector<std::uint64_t> grant_round(std::uint64_t part_bytes, std::uint64_t round,
                                       const std::vector<RoundWish>& wishes) {
  std::vector<std::uint64_t> granted(wishes.size(), 0);
  std::vector<std::size_t> served;
  std::uint64_t left = part_bytes;
  double wanted = 0;  // beyond what is granted
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const std::size_t writer = (round + i) % wishes.size();
    const RoundWish& wish = wishes[writer];
    if (wish.most == 0 || (wish.least > left && i > 0)) continue;
    granted[writer] = wish.least;
    left -= std::min(left, wish.least);
    served.push_back(writer);
    wanted += double(wish.most - wish.least);
  }
  const double part_of_wish = wanted > double(left) ? double(left) / wanted : 1.0;
  for (const std::size_t writer : served)
    granted[writer] += static_cast<std::uint64_t>(double(wishes[writer].most - wishes[writer].least) * part_of_wish);
  return granted;
}

}  // namespace ckpt
