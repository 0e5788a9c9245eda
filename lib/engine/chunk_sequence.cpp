#include "engine/chunk_sequence.hpp"

#include <algorithm>

namespace ckpt {

void ChunkSequence::enter_array() {
  grids_.clear();
  chunk_ = 0;
  card_ = 0;
  is_entered_ = true;
  const ArrayPlace& place = target_.arrays()[array_];
  if (place.verbatim) return;
  for (const Position card : cards_)
    if (target_.holds(card, array_))
      grids_.push_back({card, ChunkGrid(target_.stored_shape(array_, card), place.dtype.size, chunk_bytes_)});
}

std::optional<Chunk> ChunkSequence::next() {
  if (finished_.empty()) return next_of_grid();
  while (rest_.empty()) {
    const auto chunk = next_of_grid();
    if (!chunk) return std::nullopt;
    const std::uint64_t element = target_.arrays()[chunk->array].dtype.size;
    for (const Interval& piece : finished_.rest(chunk->card, chunk->array, chunk->elements))
      rest_.push_back({chunk->card, chunk->array, piece, piece.size() * element});
    std::reverse(rest_.begin(), rest_.end());
  }
  const Chunk chunk = rest_.back();
  rest_.pop_back();
  return chunk;
}

std::optional<Chunk> ChunkSequence::next_of_grid() {
  for (; array_ < target_.arrays().size(); ++array_, is_entered_ = false) {
    if (!is_entered_) enter_array();
    for (bool any = true; any; ++chunk_, card_ = 0) {
      any = false;
      for (; card_ < grids_.size(); ++card_) {
        const OfCard& of_card = grids_[card_];
        if (chunk_ >= of_card.grid.count()) continue;
        ++card_;
        const Interval elements = of_card.grid[chunk_];
        return Chunk{of_card.card, array_, elements, elements.size() * target_.arrays()[array_].dtype.size};
      }
      any =
          std::any_of(grids_.begin(), grids_.end(), [&](const OfCard& each) { return chunk_ + 1 < each.grid.count(); });
    }
  }
  return std::nullopt;
}

}  // namespace ckpt
