#include "plan/chunk_merge.hpp"

#include <algorithm>

namespace ckpt {

bool ChunkMerge::NextChunk::operator<(const NextChunk& other) const {
  if (parameter != other.parameter) return parameter > other.parameter;
  if (!(place == other.place))
    return std::lexicographical_compare(other.place.begin(), other.place.end(), place.begin(), place.end());
  return of_card > other.of_card;
}

void ChunkMerge::start(ArrayId array) {
  array_ = array;
  cards_.clear();
  ahead_ = {};
}

void ChunkMerge::add(Position card, const ChunkGrid& grid, std::uint64_t first) {
  cards_.push_back({card, grid, first});
  look_ahead(cards_.size() - 1, 0);
}

std::optional<Chunk> ChunkMerge::next() {
  if (ahead_.empty()) return std::nullopt;
  const NextChunk found = ahead_.top();
  ahead_.pop();
  look_ahead(found.of_card, found.chunk + 1);
  return Chunk{cards_[found.of_card].card, array_, found.elements,
               found.elements.size() * placement_.arrays()[array_].dtype.size};
}

void ChunkMerge::look_ahead(std::size_t of_card, std::uint64_t chunk) {
  const OfCard& cards = cards_[of_card];
  if (chunk >= cards.grid.count()) return;
  const Interval run = cards.grid[chunk];
  NextChunk ahead{0, {chunk}, of_card, chunk, {cards.first + run.lo, cards.first + run.hi}};
  // A chunk that begins with padding takes its index for a place: any will do.
  if (order_ == ChunkOrder::by_tensor)
    placement_.for_each_region(array_, cards.card, {ahead.elements.lo, ahead.elements.lo + 1},
                               [&](ParameterId parameter, const Region& region) {
                                 ahead.parameter = parameter;
                                 ahead.place = region.box.lo;
                               });
  ahead_.push(std::move(ahead));
}

}  // namespace ckpt
