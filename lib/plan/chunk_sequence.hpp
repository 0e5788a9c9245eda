#pragma once

#include <optional>
#include <vector>

#include "layout/placement.hpp"
#include "plan/chunk_merge.hpp"
#include "plan/finished.hpp"
#include "plan/write_shares.hpp"

namespace ckpt {

/// The chunks of some of the files of a placement, in an order that all processes share: array by array, and within
/// one over all its cards, so that what is read of a source is in memory when its neighbours need it. Small arrays
/// that follow one another are taken together, card by card: what lies side by side in a file can be written at once.
class ChunkSequence {
 public:
  ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes,
                ChunkOrder order = ChunkOrder::in_step)
      : target_(target), cards_(std::move(cards)), chunk_bytes_(chunk_bytes), one_(target, order) {}

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
  struct Array {
    ArrayId id = 0;
    std::vector<std::uint64_t> bytes;  // in chunks, on each of the cards
    std::uint64_t most = 0;            // on any of them
  };
  Array look_at(ArrayId array) const;
  std::uint64_t cell(ArrayId array) const {
    return cells_.empty() ? target_.arrays()[array].dtype.size : cells_[array];
  }
  /// What of an array is this process's.
  Interval share_of(Position card, ArrayId array, Interval elements) const {
    return shares_ == nullptr ? elements : intersect(elements, shares_->of(process_, card, array));
  }
  bool enter_group();
  std::optional<Chunk> next_of_all();
  std::optional<Chunk> next_of_group();

  const Placement& target_;
  std::vector<Position> cards_;
  std::uint64_t chunk_bytes_;
  std::vector<std::uint64_t> cells_;
  const WriteShares* shares_ = nullptr;  // null: all is this process's
  std::uint32_t process_ = 0;
  std::vector<ArrayId> order_;  // empty: that of the placement
  ArrayId seen_ = 0;            // arrays that have been looked at
  std::optional<Array> ahead_;  // has been, but did not fit into the group
  std::vector<Array> group_;    // one array of any size, or small ones
  ChunkMerge one_;              // of the one array
  std::size_t card_ = 0;
  std::size_t member_ = 0;
  Finished finished_;
  std::vector<Chunk> rest_;  // of the last chunk of the grid, last piece first
};

}  // namespace ckpt
