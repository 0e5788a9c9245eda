#pragma once

#include <optional>
#include <vector>

#include "engine/finished.hpp"
#include "layout/placement.hpp"
#include "plan/chunk.hpp"

namespace ckpt {

/// The chunks of some of the files of a placement, in an order that all processes share: array by array, and within
/// one chunk by chunk over all its cards, so that a source page is in memory when its neighbours need it.
class ChunkSequence {
 public:
  ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes)
      : target_(target), cards_(std::move(cards)), chunk_bytes_(chunk_bytes) {}

  /// Leaves out what is finished.
  void skip(Finished finished) { finished_ = std::move(finished); }

  std::optional<Chunk> next();

 private:
  struct OfCard {
    Position card;
    ChunkGrid grid;
  };
  void enter_array();
  std::optional<Chunk> next_of_grid();

  const Placement& target_;
  std::vector<Position> cards_;
  std::uint64_t chunk_bytes_;
  ArrayId array_ = 0;
  bool is_entered_ = false;
  std::vector<OfCard> grids_;
  std::uint64_t chunk_ = 0;
  std::size_t card_ = 0;
  Finished finished_;
  std::vector<Chunk> rest_;  // of the last chunk of the grid, last piece first
};

}  // namespace ckpt
