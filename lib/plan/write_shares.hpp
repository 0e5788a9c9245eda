#pragma once

#include <cstdint>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt {

/// Which process writes what of the target's data: all of it in one line, card by card and array by array, is cut into
/// stretches of about equal bytes, one for each process. Cuts fall between cards where that costs little, else within
/// arrays at multiples of 1 MiB. The same on every process.
class WriteShares {
 public:
  /// `is_cut`: whether several processes may write one card's files.
  WriteShares(const Placement& target, std::uint32_t processes, bool is_cut = true);

  std::uint32_t processes() const noexcept { return static_cast<std::uint32_t>(begins_.size()); }
  /// The process that makes a card's files, and writes the first of their data.
  std::uint32_t owner(Position card) const;
  /// The last process that writes any of a card's files; those from its owner to that one write them.
  std::uint32_t last_writer(Position card) const;
  /// The cards whose files a process makes.
  std::vector<Position> owned_by(std::uint32_t process) const;
  /// The cards that it writes data of: these, and before them one whose files another process makes.
  std::vector<Position> written_by(std::uint32_t process) const;
  /// The elements that a process writes of an array of a card: one run, which may be empty.
  Interval of(std::uint32_t process, Position card, ArrayId array) const;

 private:
  /// A place in the line of all data.
  struct Place {
    Position card = 0;
    ArrayId array = 0;
    std::uint64_t element = 0;

    friend auto operator<=>(const Place&, const Place&) = default;
  };

  Place inside(Position card, std::uint64_t bytes) const;
  Place end_of(std::uint32_t process) const;

  const Placement& target_;
  std::vector<Place> begins_;  // by process
};

}  // namespace ckpt
