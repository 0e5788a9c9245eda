#include "plan/chunk_sequence.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "tensor/alignment.hpp"

namespace ckpt {

ChunkSequence::ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes,
                             ChunkOrder order)
    : target_(target),
      chunk_bytes_(chunk_bytes),
      piece_bytes_(std::bit_floor(std::max<std::uint64_t>(chunk_bytes, 1))),
      way_(order),
      one_(target, order) {
  for (const Position card : cards) cards_.push_back({.card = card});
}

std::optional<Chunk> ChunkSequence::next() {
  const auto next_of_all = [this] { return way_ == ChunkOrder::in_step ? next_in_step() : next_by_tensor(); };
  if (finished_.empty()) return next_of_all();
  while (rest_.empty()) {
    const auto chunk = next_of_all();
    if (!chunk) return std::nullopt;
    for (const Interval& piece : finished_.rest(chunk->card, chunk->array, chunk->elements))
      rest_.push_back({chunk->card, chunk->array, piece, piece.size() * cell(chunk->array)});
    std::reverse(rest_.begin(), rest_.end());
  }
  const Chunk chunk = rest_.back();
  rest_.pop_back();
  return chunk;
}

Interval ChunkSequence::share_of(Position card, ArrayId array) const {
  const std::uint64_t stored = target_.stored_bytes(array, card);
  if (stored == 0) return {};  // strings have no size
  return shares_ == nullptr ? Interval{0, stored / target_.arrays()[array].dtype.size}
                            : shares_->of(process_, card, array);
}

/// A card's next array of which there is something to be written. False where there is none left.
bool ChunkSequence::enter_array(OfCard& of) const {
  while (of.rest.empty() && of.seen < target_.arrays().size()) {
    of.array = array_at(of.seen++);
    const std::uint64_t stored = target_.stored_bytes(of.array, of.card);
    of.end = checked_add(round_up(of.end, data_alignment(stored)), stored, "a card's arrays");
    of.rest = share_of(of.card, of.array);
  }
  return !of.rest.empty();
}

std::uint64_t ChunkSequence::place_of_rest(const OfCard& of) const {
  const std::uint64_t before = of.rest.lo * target_.arrays()[of.array].dtype.size;
  return places_ ? places_(of.card, of.array, before) : of.end - target_.stored_bytes(of.array, of.card) + before;
}

/// A card's next chunk, unless it lies in another piece than the one before.
std::optional<Chunk> ChunkSequence::next_of_piece(OfCard& of) const {
  if (!enter_array(of)) {
    of.is_done = true;
    return std::nullopt;
  }
  const std::uint64_t place = place_of_rest(of);
  const std::uint64_t piece = place / piece_bytes_;
  if (of.piece.value_or(piece) != piece) {
    of.piece.reset();
    return std::nullopt;
  }
  of.piece = piece;
  const std::uint64_t to_end = (piece_bytes_ - place % piece_bytes_) / target_.arrays()[of.array].dtype.size;
  const std::uint64_t most = std::clamp<std::uint64_t>(chunk_bytes_ / cell(of.array), 1, of.rest.size());
  const std::uint64_t count = std::clamp<std::uint64_t>(to_end, 1, most);
  const Interval elements{of.rest.lo, of.rest.lo + count};
  of.rest.lo += count;
  return Chunk{of.card, of.array, elements, count * cell(of.array)};
}

std::optional<Chunk> ChunkSequence::next_in_step() {
  for (;; ++turn_) {
    if (turn_ == cards_.size()) {
      std::erase_if(cards_, [](const OfCard& of) { return of.is_done; });
      turn_ = 0;
      if (cards_.empty()) return std::nullopt;
    }
    if (auto chunk = next_of_piece(cards_[turn_])) return chunk;
  }
}

std::optional<Chunk> ChunkSequence::next_by_tensor() {
  for (;;) {
    while (auto chunk = one_.next()) {
      chunk->elements = intersect(chunk->elements, share_of(chunk->card, chunk->array));
      if (chunk->elements.empty()) continue;
      chunk->bytes = chunk->elements.size() * cell(chunk->array);
      return chunk;
    }
    if (seen_ == target_.arrays().size()) return std::nullopt;
    const ArrayId array = array_at(seen_++);
    one_.start(array);
    for (const OfCard& of : cards_)
      if (!share_of(of.card, array).empty())
        one_.add(of.card, ChunkGrid(target_.stored_shape(array, of.card), cell(array), chunk_bytes_));
  }
}

}  // namespace ckpt
