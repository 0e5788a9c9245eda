#include "plan/write_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ckpt {

namespace {

constexpr std::uint64_t cut_bytes = 1ULL << 20;  // a stripe of parallel file systems, and whole pages
constexpr double tolerated = 0.02;               // of a process's share, to put a border between cards

}  // namespace

WriteShares::WriteShares(const Placement& target, std::uint32_t processes, bool is_cut)
    : target_(target), begins_(processes) {
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
    const std::uint64_t cut = (bytes + cut_bytes / 2) / cut_bytes * cut_bytes;
    return {card, array, std::min(cut, stored) / element};
  }
  return {card + 1, 0, 0};
}

WriteShares::Place WriteShares::end_of(std::uint32_t process) const {
  return process + 1 < begins_.size() ? begins_[process + 1] : Place{target_.mesh().size(), 0, 0};
}

std::uint32_t WriteShares::owner(Position card) const {
  const auto behind = std::upper_bound(begins_.begin(), begins_.end(), Place{card, 0, 0});
  return static_cast<std::uint32_t>(behind - begins_.begin()) - 1;
}

std::uint32_t WriteShares::last_writer(Position card) const {
  const auto behind = std::lower_bound(begins_.begin(), begins_.end(), Place{card + 1, 0, 0});
  return std::max(owner(card), static_cast<std::uint32_t>(behind - begins_.begin()) - 1);
}

std::vector<Position> WriteShares::owned_by(std::uint32_t process) const {
  std::vector<Position> cards;
  for (Position card = begins_[process].card; card < std::min(end_of(process).card + 1, target_.mesh().size()); ++card)
    if (owner(card) == process) cards.push_back(card);
  return cards;
}

std::vector<Position> WriteShares::written_by(std::uint32_t process) const {
  std::vector<Position> cards = owned_by(process);
  const Position first = begins_[process].card;
  if (first < target_.mesh().size() && owner(first) < process && begins_[process] != end_of(process))
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
  return {within(begins_[process]), within(end_of(process))};
}

}  // namespace ckpt
