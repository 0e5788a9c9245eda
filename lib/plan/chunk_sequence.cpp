#include "plan/chunk_sequence.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "tensor/alignment.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_small = 64ULL << 10;  // bytes of an array

}  // namespace

ChunkSequence::ChunkSequence(const Placement& target, std::vector<Position> cards, std::uint64_t chunk_bytes,
                             ChunkOrder order)
    : target_(target),
      chunk_bytes_(chunk_bytes),
      block_bytes_(std::bit_floor(std::max<std::uint64_t>(chunk_bytes, 1))),
      way_(order),
      one_(target, order) {
  for (const Position card : cards) cards_.push_back({.card = card});
}

std::optional<Chunk> ChunkSequence::next() {
  if (finished_.empty()) return next_of_all();
  while (rest_.empty()) {
    const auto chunk = next_of_all();
    if (!chunk) return std::nullopt;
    for (const Interval& part : finished_.rest(chunk->card, chunk->array, chunk->elements))
      rest_.push_back({chunk->card, chunk->array, part, part.size() * cell(chunk->array)});
    std::reverse(rest_.begin(), rest_.end());
  }
  const Chunk chunk = rest_.back();
  rest_.pop_back();
  return chunk;
}

std::optional<Chunk> ChunkSequence::next_of_all() {
  for (;;) {
    if (auto chunk = next_in_step()) return chunk;
    if (auto chunk = next_by_tensor()) return chunk;
    if (seen_ == target_.arrays().size()) return std::nullopt;
    enter_arrays();
  }
}

/// Enters the next arrays that are processed together.
void ChunkSequence::enter_arrays() {
  const std::size_t first = seen_++;
  if (way_ == ChunkOrder::in_step) {
    seen_ = target_.arrays().size();
  } else if (is_small(array_at(first))) {
    while (seen_ < target_.arrays().size() && is_small(array_at(seen_))) ++seen_;
  } else {
    const ArrayId array = array_at(first);
    one_.start(array);
    for (const OfCard& of : cards_)
      if (!share_of(of.card, array).empty())
        one_.add(of.card, ChunkGrid(target_.stored_shape(array, of.card), cell(array), chunk_bytes_));
    return;
  }
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    cards_[i].seen = first;
    if (look_ahead(cards_[i])) wait_for_turn(i);
  }
}

/// Returns whether an array is small on every card.
bool ChunkSequence::is_small(ArrayId array) const {
  const std::uint64_t most = std::min(most_small, chunk_bytes_);
  return std::all_of(cards_.begin(), cards_.end(),
                     [&](const OfCard& of) { return target_.stored_bytes(array, of.card) <= most; });
}

Interval ChunkSequence::share_of(Position card, ArrayId array) const {
  const std::uint64_t stored = target_.stored_bytes(array, card);
  if (stored == 0) return {};  // strings have no size
  return shares_ == nullptr ? Interval{0, stored / element(array)} : shares_->of(process_, card, array);
}

/// Finds where a card's next chunk begins. Returns false if no array that has been entered has any left.
bool ChunkSequence::look_ahead(OfCard& of) const {
  while (of.rest.empty()) {
    if (of.seen == seen_) return false;
    of.array = array_at(of.seen++);
    const std::uint64_t stored = target_.stored_bytes(of.array, of.card);
    std::uint64_t begin = round_up(of.end, data_alignment(stored));
    const std::uint64_t before = begin % block_bytes_;  // offset in its block
    if (before != 0 && before + stored > block_bytes_ / 2) begin = round_up(begin, block_bytes_);
    of.end = checked_add(begin, stored, "a card's arrays");
    of.rest = share_of(of.card, of.array);
    of.blocks = 0;
  }
  const std::uint64_t byte = of.rest.lo * element(of.array);
  of.at =
      places_ ? places_(of.card, of.array, byte) : Place{0, of.end - target_.stored_bytes(of.array, of.card) + byte};
  return true;
}

void ChunkSequence::wait_for_turn(std::size_t card) {
  OfCard& of = cards_[card];
  turns_.emplace(of.seen, of.blocks++, card);
}

/// Continues with the block in progress, or else with that of the card whose turn it is.
std::optional<Chunk> ChunkSequence::next_in_step() {
  if (!cutting_) {
    if (turns_.empty()) return std::nullopt;
    cutting_ = std::get<2>(turns_.top());
    turns_.pop();
  }
  OfCard& of = cards_[*cutting_];
  const Place at = of.at;
  const std::uint64_t to_end = (block_bytes_ - at.byte % block_bytes_) / element(of.array);
  const std::uint64_t most = std::clamp<std::uint64_t>(chunk_bytes_ / cell(of.array), 1, of.rest.size());
  const std::uint64_t count = std::clamp<std::uint64_t>(to_end, 1, most);
  const Chunk chunk{of.card, of.array, {of.rest.lo, of.rest.lo + count}, count * cell(of.array)};
  of.rest.lo += count;
  const bool has_more = look_ahead(of);
  if (!has_more || of.at.file != at.file || of.at.byte / block_bytes_ != at.byte / block_bytes_) {
    if (has_more) wait_for_turn(*cutting_);
    cutting_.reset();
  }
  return chunk;
}

std::optional<Chunk> ChunkSequence::next_by_tensor() {
  while (auto chunk = one_.next()) {
    chunk->elements = intersect(chunk->elements, share_of(chunk->card, chunk->array));
    if (chunk->elements.empty()) continue;
    chunk->bytes = chunk->elements.size() * cell(chunk->array);
    return chunk;
  }
  return std::nullopt;
}

}  // namespace ckpt
