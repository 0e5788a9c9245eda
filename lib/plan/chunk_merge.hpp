#pragma once

#include <cstddef>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "layout/placement/placement.hpp"
#include "plan/chunk.hpp"

namespace ckpt {

/// How the chunks of several cards are interleaved.
enum class ChunkOrder {
  in_step,    ///< the first of each card, then the second: no file is written by more threads than necessary
  by_tensor,  ///< by their first elements' places in the tensor: data decoded for one chunk also serves its neighbours
};

/// Merges the chunks of one array on several cards in such an order.
class ChunkMerge {
 public:
  ChunkMerge(const Placement& placement, ChunkOrder order) : placement_(placement), order_(order) {}

  /// Starts with an array.
  void start(ArrayId array);
  /// Adds a card's chunks of the array; the grid's first element is element `first` of the stored array.
  void add(Position card, const ChunkGrid& grid, std::uint64_t first = 0);
  std::optional<Chunk> next();

 private:
  struct OfCard {
    Position card;
    ChunkGrid grid;
    std::uint64_t first;
  };
  /// A card's next chunk.
  struct NextChunk {
    ParameterId parameter = 0;
    Shape place;
    std::size_t of_card = 0;
    std::uint64_t chunk = 0;
    Interval elements;
    bool operator<(const NextChunk& other) const;  // inverted: a queue returns its greatest element first
  };
  void look_ahead(std::size_t of_card, std::uint64_t chunk);

  const Placement& placement_;
  ChunkOrder order_;
  ArrayId array_ = 0;
  std::vector<OfCard> cards_;
  std::priority_queue<NextChunk> ahead_;
};

}  // namespace ckpt
