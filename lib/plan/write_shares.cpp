#include "plan/write_shares.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace ckpt {

namespace {

constexpr std::uint64_t cut_bytes = 1ULL << 20;  // a stripe of parallel file systems, and whole pages
constexpr double tolerated = 0.02;               // of a process's share, to put a border between cards

std::vector<std::uint32_t> in_order(std::uint32_t processes) {
  std::vector<std::uint32_t> order(processes);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

std::vector<std::uint32_t> order_by_hosts(const Owners& owners, const std::vector<std::uint64_t>& card_bytes,
                                          const std::vector<std::uint32_t>& hosts) {
  struct Cards {
    double sum = 0;
    double bytes = 0;
    double mean() const { return bytes == 0 ? std::numeric_limits<double>::infinity() : sum / bytes; }
  };
  std::vector<std::uint32_t> order = in_order(static_cast<std::uint32_t>(hosts.size()));
  if (owners.empty()) return order;
  std::map<std::uint32_t, Cards> of_host;
  for (Position card = 0; card < owners.size(); ++card) {
    Cards& cards = of_host[hosts[owners[card]]];
    cards.sum += double(card) * double(card_bytes[card]);
    cards.bytes += double(card_bytes[card]);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(of_host[hosts[a]].mean(), hosts[a]) < std::tuple(of_host[hosts[b]].mean(), hosts[b]);
  });
  return order;
}

WriteShares::WriteShares(const Placement& target, std::uint32_t processes, bool is_cut)
    : WriteShares(target, in_order(processes), is_cut) {}

WriteShares::WriteShares(const Placement& target, std::vector<std::uint32_t> order, bool is_cut)
    : target_(target), begins_(order.size()), order_(std::move(order)), number_(order_.size()) {
  const auto processes = static_cast<std::uint32_t>(order_.size());
  for (std::uint32_t share = 0; share < processes; ++share) number_[order_[share]] = share;
  if (processes == 1) return;
  const Position cards = target.mesh().size();
  std::vector<std::uint64_t> bytes(cards, 1);  // files without data are distributed, too
  for (ArrayId array = 0; array < target.arrays().size(); ++array)
    for (Position card = 0; card < cards; ++card) bytes[card] += target.stored_bytes(array, card);
  double total = 0;
  for (const std::uint64_t of_card : bytes) total += double(of_card);
  const double share = total / processes;

  Position card = 0;
  double before = 0;  // bytes of the cards before it
  for (std::uint32_t process = 1; process < processes; ++process) {
    const double cut = share * process;
    for (; card < cards && before + double(bytes[card]) <= cut; ++card) before += double(bytes[card]);
    begins_[process] = {cards, 0, 0};
    if (card == cards) continue;
    const double from_begin = cut - before;
    const double to_end = double(bytes[card]) - from_begin;
    if (from_begin <= tolerated * share)
      begins_[process] = {card, 0, 0};
    else if (!is_cut || bytes[card] < 2 * cut_bytes || to_end <= tolerated * share)
      begins_[process] = {card + 1, 0, 0};
    else
      begins_[process] = inside(card, static_cast<std::uint64_t>(from_begin));
  }
}

/// Returns the place within a card's data about `bytes` bytes after its beginning.
WriteShares::Place WriteShares::inside(Position card, std::uint64_t bytes) const {
  for (ArrayId array = 0; array < target_.arrays().size(); ++array) {
    const std::uint64_t stored = target_.stored_bytes(array, card);
    if (bytes >= stored) {
      bytes -= stored;
      continue;
    }
    const std::uint64_t element = target_.arrays()[array].dtype.size;
    // The first share is never empty: its process completes a single file.
    const std::uint64_t blocks = std::max<std::uint64_t>((bytes + cut_bytes / 2) / cut_bytes, array == 0 ? 1 : 0);
    const std::uint64_t cut = blocks * cut_bytes;
    return {card, array, std::min(cut, stored) / element};
  }
  return {card + 1, 0, 0};
}

WriteShares::Place WriteShares::end_of(std::uint32_t share) const {
  return share + 1 < begins_.size() ? begins_[share + 1] : Place{target_.mesh().size(), 0, 0};
}

std::uint32_t WriteShares::share_of(Position card) const {
  const auto behind = std::upper_bound(begins_.begin(), begins_.end(), Place{card, 0, 0});
  return static_cast<std::uint32_t>(behind - begins_.begin()) - 1;
}

std::span<const std::uint32_t> WriteShares::writers(Position card) const {
  const auto behind = std::lower_bound(begins_.begin(), begins_.end(), Place{card + 1, 0, 0});
  const std::uint32_t first = share_of(card);
  const auto last = std::max(first, static_cast<std::uint32_t>(behind - begins_.begin()) - 1);
  return std::span(order_).subspan(first, last - first + 1);
}

std::vector<Position> WriteShares::owned_by(std::uint32_t process) const {
  const std::uint32_t share = number_[process];
  std::vector<Position> cards;
  for (Position card = begins_[share].card; card < std::min(end_of(share).card + 1, target_.mesh().size()); ++card)
    if (share_of(card) == share) cards.push_back(card);
  return cards;
}

std::vector<Position> WriteShares::written_by(std::uint32_t process) const {
  const std::uint32_t share = number_[process];
  std::vector<Position> cards = owned_by(process);
  const Position first = begins_[share].card;
  if (first < target_.mesh().size() && share_of(first) < share && begins_[share] != end_of(share))
    cards.insert(cards.begin(), first);
  return cards;
}

Interval WriteShares::of(std::uint32_t process, Position card, ArrayId array) const {
  const std::uint64_t bytes = target_.stored_bytes(array, card);
  if (bytes == 0) return {};  // strings have no size
  const std::uint64_t count = bytes / target_.arrays()[array].dtype.size;
  const auto within = [&](const Place& place) {
    if (place <= Place{card, array, 0}) return std::uint64_t{0};
    return place < Place{card, array, count} ? place.element : count;
  };
  return {within(begins_[number_[process]]), within(end_of(number_[process]))};
}

}  // namespace ckpt
