#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "layout/placement.hpp"
#include "plan/chunk_merge.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"

namespace ckpt {

/// The chunks of some of the files of a placement, in an order that all processes share.
///
/// In step, each file is cut where its bytes are multiples of a power of two, and the first piece of each card comes
/// before the second of any: what is read of a source is in memory when its neighbours need it, and what makes up a
/// piece, of several arrays, is written at once. Systems keep what is written in pieces of memory of such sizes that
/// begin at such places: cut anywhere else, it takes ten of them and a fifth more time.
///
/// By tensor, arrays come one after the other, each over all cards.
class ChunkSequence {
 public:
  /// Where a byte of what a card stores of an array lies in its file.
  using PlaceInFile = std::function<std::uint64_t(Position card, ArrayId array, std::uint64_t byte)>;

  /// Of chunks of at most `chunk_bytes`, or one element.
  ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes,
                ChunkOrder order = ChunkOrder::in_step);

  /// Where files are cut; without it, as if a card's arrays followed one another in one file.
  void take_places(PlaceInFile places) { places_ = std::move(places); }
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

 private:
  /// How far a card's arrays have been cut.
  struct OfCard {
    Position card = 0;
    std::size_t seen = 0;                     // arrays that have been looked at
    ArrayId array = 0;                        // the last of them
    Interval rest = {};                       // of its elements
    std::uint64_t end = 0;                    // where it ends, if arrays follow one another
    std::optional<std::uint64_t> piece = {};  // the number of the one that is being cut
    bool is_done = false;
  };

  std::uint64_t cell(ArrayId array) const {
    return cells_.empty() ? target_.arrays()[array].dtype.size : cells_[array];
  }
  ArrayId array_at(std::size_t n) const { return order_.empty() ? static_cast<ArrayId>(n) : order_[n]; }
  /// What of an array is this process's.
  Interval share_of(Position card, ArrayId array) const;
  bool enter_array(OfCard& of) const;
  std::uint64_t place_of_rest(const OfCard& of) const;
  std::optional<Chunk> next_of_piece(OfCard& of) const;
  std::optional<Chunk> next_in_step();
  std::optional<Chunk> next_by_tensor();

  const Placement& target_;
  std::uint64_t chunk_bytes_;
  std::uint64_t piece_bytes_;  // of a file
  ChunkOrder way_;
  PlaceInFile places_;
  std::vector<std::uint64_t> cells_;
  const WriteShares* shares_ = nullptr;  // null: all is this process's
  std::uint32_t process_ = 0;
  std::vector<ArrayId> order_;  // empty: that of the placement
  std::vector<OfCard> cards_;   // in step: those that have more
  std::size_t turn_ = 0;        // whose it is of these
  ChunkMerge one_;              // by tensor: of one array
  std::size_t seen_ = 0;        // by tensor: arrays that have been looked at
  Finished finished_;
  std::vector<Chunk> rest_;  // of the last chunk that was cut, last piece first
};

}  // namespace ckpt
