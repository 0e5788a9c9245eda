#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/placement/placement.hpp"
#include "plan/readers.hpp"

namespace ckpt {

/// Returns the processes in an order in which each writes near what its host reads; by number if `owners` is empty.
/// Hosts follow one another by the source cards that they read, weighed by `card_bytes`. `hosts`: each process's, as a
/// number.
std::vector<std::uint32_t> order_by_hosts(const Owners& owners, const std::vector<std::uint64_t>& card_bytes,
                                          const std::vector<std::uint32_t>& hosts);

/// Which process writes which part of the target's data. All data in one sequence, card by card and array by array, is
/// divided into shares of about equal size, one for each process. Borders lie between cards if that costs little,
/// otherwise within arrays at multiples of 1 MiB. Every process computes the same shares.
class WriteShares {
 public:
  /// `is_cut`: whether several processes may write one card's files.
  WriteShares(const Placement& target, std::uint32_t processes, bool is_cut = true);
  /// `order`: the processes, as the shares follow one another.
  WriteShares(const Placement& target, std::vector<std::uint32_t> order, bool is_cut);

  std::uint32_t processes() const noexcept { return static_cast<std::uint32_t>(begins_.size()); }
  /// Returns the process that creates a card's files, and writes the first of their data.
  std::uint32_t owner(Position card) const { return writers(card).front(); }
  /// Returns the processes that may write some of a card's files, the owner first.
  std::span<const std::uint32_t> writers(Position card) const;
  /// Returns the cards whose files a process creates.
  std::vector<Position> owned_by(std::uint32_t process) const;
  /// Returns the cards for which it writes data: its own, and before them possibly one whose files another process
  /// creates.
  std::vector<Position> written_by(std::uint32_t process) const;
  /// Returns the elements that a process writes of an array of a card: one run, which may be empty.
  Interval of(std::uint32_t process, Position card, ArrayId array) const;

 private:
  /// A position in the sequence of all data.
  struct Place {
    Position card = 0;
    ArrayId array = 0;
    std::uint64_t element = 0;

    friend auto operator<=>(const Place&, const Place&) = default;
  };

  Place inside(Position card, std::uint64_t bytes) const;
  Place end_of(std::uint32_t share) const;
  /// The share in which a card's data begin.
  std::uint32_t share_of(Position card) const;

  const Placement& target_;
  std::vector<Place> begins_;          // by share
  std::vector<std::uint32_t> order_;   // processes by share
  std::vector<std::uint32_t> number_;  // shares by process
};

}  // namespace ckpt
