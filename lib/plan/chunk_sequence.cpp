#include "plan/chunk_sequence.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "tensor/alignment.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_group_bytes = 1ULL << 20;  // of one file
constexpr std::uint64_t most_group_entries = 1ULL << 20;

/// What an array of so many bytes takes in a file at most, the gap before it included.
std::uint64_t room_of(std::uint64_t bytes) {
  return checked_add(bytes, data_alignment(bytes), "an array");
}

}  // namespace

std::optional<Chunk> ChunkSequence::next() {
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

std::optional<Chunk> ChunkSequence::next_of_all() {
  do {
    while (auto chunk = group_.size() > 1 ? next_of_group() : one_.next()) {
      chunk->elements = share_of(chunk->card, chunk->array, chunk->elements);
      if (chunk->elements.empty()) continue;
      chunk->bytes = chunk->elements.size() * cell(chunk->array);
      return chunk;
    }
  } while (enter_group());
  return std::nullopt;
}

ChunkSequence::Array ChunkSequence::look_at(ArrayId array) const {
  Array found{array, std::vector<std::uint64_t>(cards_.size(), 0), 0};
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    const std::uint64_t stored = target_.stored_bytes(array, cards_[i]);
    if (stored == 0) continue;
    const std::uint64_t elements = stored / target_.arrays()[array].dtype.size;
    if (!share_of(cards_[i], array, {0, elements}).empty()) found.bytes[i] = elements * cell(array);
    found.most = std::max(found.most, found.bytes[i]);
  }
  return found;
}

/// The next arrays: as many small ones as make up one write, or one of any size. False where there are none left.
bool ChunkSequence::enter_group() {
  group_.clear();
  card_ = member_ = 0;
  std::uint64_t room = 0;
  const std::uint64_t most = std::min(most_group_bytes, chunk_bytes_);
  while (ahead_ || seen_ < target_.arrays().size()) {
    if (!ahead_) {
      ahead_ = look_at(order_.empty() ? seen_ : order_[seen_]);
      ++seen_;
    }
    room = checked_add(room, room_of(ahead_->most));
    if (!group_.empty() && (room > most || (group_.size() + 1) * cards_.size() > most_group_entries)) break;
    group_.push_back(std::move(*ahead_));
    ahead_.reset();
    if (room > most) break;
  }
  if (group_.size() == 1) {
    const Array& array = group_.front();
    one_.start(array.id);
    for (std::size_t i = 0; i < cards_.size(); ++i)
      if (array.bytes[i] != 0)
        one_.add(cards_[i], ChunkGrid(target_.stored_shape(array.id, cards_[i]), cell(array.id), chunk_bytes_));
  }
  return !group_.empty();
}

std::optional<Chunk> ChunkSequence::next_of_group() {
  for (; card_ < cards_.size(); ++card_, member_ = 0)
    while (member_ < group_.size()) {
      const Array& array = group_[member_++];
      const std::uint64_t bytes = array.bytes[card_];
      if (bytes != 0) return Chunk{cards_[card_], array.id, {0, bytes / cell(array.id)}, bytes};
    }
  return std::nullopt;
}

}  // namespace ckpt
