#pragma once

#include <cstddef>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "layout/placement.hpp"
#include "plan/chunk.hpp"

namespace ckpt {

/// How the chunks of several cards follow one another.
enum class ChunkOrder {
  in_step,    ///< the first of each card, then the second: no file is written by more threads than need be
  by_tensor,  ///< by their first elements' places in the tensor: what is decoded for one serves its neighbours
};

/// Gives the chunks of one array on several cards in such an order.
class ChunkMerge {
 public:
  ChunkMerge(const Placement& placement, ChunkOrder order) : placement_(placement), order_(order) {}

  /// The array whose chunks are to come.
  void start(ArrayId array);
  /// A card's chunks of it, the grid's first element being element `first` of the stored array.
  void add(Position card, const ChunkGrid& grid, std::uint64_t first = 0);
  std::optional<Chunk> next();

 private:
  struct OfCard {
    Position card;
    ChunkGrid grid;
    std::uint64_t first;
  };
  /// A card's next chunk.
  struct Ahead {
    ParameterId parameter = 0;
    Extents place;
    std::size_t of_card = 0;
    std::uint64_t chunk = 0;
    Interval elements;
    bool operator<(const Ahead& other) const;  // the later one is less: a queue gives its greatest first
  };
  void look_ahead(std::size_t of_card, std::uint64_t chunk);

  const Placement& placement_;
  ChunkOrder order_;
  ArrayId array_ = 0;
  std::vector<OfCard> cards_;
  std::priority_queue<Ahead> ahead_;
};

}  // namespace ckpt
