#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "layout/names/file_table.hpp"
#include "layout/placement/placement.hpp"
#include "plan/chunk_merge.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"

namespace ckpt {

/// The chunks of some of the files of a placement, in an order that all processes share.
///
/// In step: files are divided into blocks, and cards take turns, one block each. The turn goes first to the cards in
/// the earliest array, and least far in it. So data that is read from a source is still in memory when neighbouring
/// cards need it, and a block can be written at once. A block lies between two multiples of a power of two of bytes,
/// and includes as many arrays as lie there; if places in files are not known, it is half as large, and contains one
/// array, or small ones.
///
/// By tensor: large arrays come one after another, each over all cards; small ones come in step.
class ChunkSequence {
 public:
  struct Place {
    FileNumber file = 0;
    std::uint64_t byte = 0;
  };
  /// Returns where a byte of a card's stored part of an array lies.
  using Places = std::function<Place(Position card, ArrayId array, std::uint64_t byte)>;

  /// Chunks have at most `chunk_bytes`, or one element.
  ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes,
                ChunkOrder order = ChunkOrder::in_step);

  /// Makes blocks follow the places in the files. Systems keep written data in memory of such sizes for such places:
  /// data across their borders takes several more, and a quarter more time. But of a source that is read in blocks of
  /// its own, more are needed at a time.
  void take_places(Places places) { places_ = std::move(places); }
  /// Sets the bytes of an element of each array in a chunk, if they differ from its stored size.
  void take_cells(std::vector<std::uint64_t> cells) { cells_ = std::move(cells); }
  /// Sets the order of all arrays, if it is not their own.
  void take_order(std::vector<ArrayId> order) { order_ = std::move(order); }
  /// Excludes what other processes write. The shares must outlive it.
  void take_share(const WriteShares& shares, std::uint32_t process) {
    shares_ = &shares;
    process_ = process;
  }
  /// Excludes what is finished.
  void skip(Finished finished) { finished_ = std::move(finished); }

  std::optional<Chunk> next();
  /// Returns the maximum size of a block.
  std::uint64_t block_bytes() const noexcept { return block_bytes_; }

 private:
  /// How far a card's arrays have been divided.
  struct OfCard {
    Position card = 0;
    std::size_t seen = 0;      // number of arrays visited
    ArrayId array = 0;         // the last of them
    Interval rest = {};        // its remaining elements
    std::uint64_t end = 0;     // its end, if places are not known
    Place at = {};             // where the remaining elements begin
    std::uint64_t blocks = 0;  // blocks of the array that have been taken
  };
  /// A card's position in the queue for the next block: arrays, and blocks of the last one; and the card.
  using Turn = std::tuple<std::size_t, std::uint64_t, std::size_t>;

  std::uint64_t element(ArrayId array) const { return target_.arrays()[array].dtype.size; }
  std::uint64_t cell(ArrayId array) const { return cells_.empty() ? element(array) : cells_[array]; }
  ArrayId array_at(std::size_t n) const { return order_.empty() ? static_cast<ArrayId>(n) : order_[n]; }
  /// Returns this process's share of an array.
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
  std::uint64_t block_bytes_;  // of a file
  ChunkOrder way_;
  Places places_;
  std::vector<std::uint64_t> cells_;
  const WriteShares* shares_ = nullptr;  // null: everything belongs to this process
  std::uint32_t process_ = 0;
  std::vector<ArrayId> order_;  // empty: the placement's order
  std::size_t seen_ = 0;        // number of arrays entered, in step or by tensor
  std::vector<OfCard> cards_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::optional<std::size_t> cutting_;  // the card whose turn it is
  ChunkMerge one_;                      // by tensor: merges one array
  Finished finished_;
  std::vector<Chunk> rest_;  // parts of the last chunk that was divided, last one first
};

}  // namespace ckpt
