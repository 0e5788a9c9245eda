#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "layout/file_table.hpp"
#include "layout/placement.hpp"
#include "plan/chunk_merge.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"

namespace ckpt {

/// The chunks of some of the files of a placement, in an order that all processes share.
///
/// In step, files are cut into pieces, and cards take turns, a piece each: first those that are in the earliest array,
/// and least far in it. So what is read of a source is in memory when its neighbours need it, and what makes up a piece
/// can be written at once. A piece is what lies between two multiples of a power of two of bytes, of as many arrays as
/// that is; or, where places in files are not told, of one array, or of small ones, half as much.
///
/// By tensor, large arrays come one after the other, each over all cards; small ones in step.
class ChunkSequence {
 public:
  struct Place {
    FileNumber file = 0;
    std::uint64_t byte = 0;
  };
  /// Where a byte of what a card stores of an array lies.
  using Places = std::function<Place(Position card, ArrayId array, std::uint64_t byte)>;

  /// Of chunks of at most `chunk_bytes`, or one element.
  ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes,
                ChunkOrder order = ChunkOrder::in_step);

  /// Has files cut where they lie. Systems keep what is written in pieces of memory of such sizes that begin at such
  /// places: whatever lies across them takes several more, and a quarter more time. But of a source that is read block
  /// by block, more blocks are needed at a time.
  void take_places(Places places) { places_ = std::move(places); }
  /// What an element of each array takes in a chunk, where that is not what it is stored in.
  void take_cells(std::vector<std::uint64_t> cells) { cells_ = std::move(cells); }
  /// In which order the arrays come, all of them, where it is not their own.
  void take_order(std::vector<ArrayId> order) { order_ = std::move(order); }
  /// Leaves out what other processes write. The shares must outlive it.
  void take_share(const WriteShares& shares, std::uint32_t process) {
    shares_ = &shares;
    process_ = process;
  }
  /// Leaves out what is finished.
  void skip(Finished finished) { finished_ = std::move(finished); }

  std::optional<Chunk> next();
  /// What a piece has at most.
  std::uint64_t piece_bytes() const noexcept { return piece_bytes_; }

 private:
  /// How far a card's arrays have been cut.
  struct OfCard {
    Position card = 0;
    std::size_t seen = 0;      // arrays that have been looked at
    ArrayId array = 0;         // the last of them
    Interval rest = {};        // of its elements
    std::uint64_t end = 0;     // where it does, where places are not told
    Place at = {};             // where the rest begins
    std::uint64_t pieces = 0;  // of the array that have been cut
  };
  /// How far a card waits with its next piece: arrays, and pieces of the last one; and which card.
  using Turn = std::tuple<std::size_t, std::uint64_t, std::size_t>;

  std::uint64_t element(ArrayId array) const { return target_.arrays()[array].dtype.size; }
  std::uint64_t cell(ArrayId array) const { return cells_.empty() ? element(array) : cells_[array]; }
  ArrayId array_at(std::size_t n) const { return order_.empty() ? static_cast<ArrayId>(n) : order_[n]; }
  /// What of an array is this process's.
  Interval share_of(Position card, ArrayId array) const;
  bool is_small(ArrayId array) const;
  std::optional<Chunk> next_of_all();
  void enter_arrays();
  std::optional<Chunk> next_in_step();
  bool look_ahead(OfCard& of) const;
  void wait_for_turn(std::size_t card);
  std::optional<Chunk> next_by_tensor();

  const Placement& target_;
  std::uint64_t chunk_bytes_;
  std::uint64_t piece_bytes_;  // of a file
  ChunkOrder way_;
  Places places_;
  std::vector<std::uint64_t> cells_;
  const WriteShares* shares_ = nullptr;  // null: all is this process's
  std::uint32_t process_ = 0;
  std::vector<ArrayId> order_;  // empty: that of the placement
  std::size_t seen_ = 0;        // arrays that have been entered, in step or by tensor
  std::vector<OfCard> cards_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::optional<std::size_t> cutting_;  // the card whose turn it is
  ChunkMerge one_;                      // by tensor: of one array
  Finished finished_;
  std::vector<Chunk> rest_;  // of the last chunk that was cut, last piece first
};

}  // namespace ckpt
