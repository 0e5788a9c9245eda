#include "proof/compare_workload.hpp"

#include <algorithm>
#include <cstring>

#include "base/buffer.hpp"

namespace ckpt {

CompareWorkload::CompareWorkload(const ComparedPair& pair, std::uint64_t chunk_bytes, ChunkOrder order,
                                 std::uint32_t process, Traffic& traffic)
    : pair_(pair),
      b_(pair.planner.target()),
      chunk_bytes_(chunk_bytes),
      process_(process),
      traffic_(traffic),
      files_(pair.b, b_, pair.store, pair.most_open),
      chunks_(b_, order) {
  std::uint64_t total = 0;
  for (const ParameterId parameter : pair.parameters)
    for (const Position card : cards_of(parameter))
      total += b_.run_of(parameter, card).size() * b_.tensors()[parameter].dtype.size;
  traffic_.bytes_total = total;
}

const Tensor& CompareWorkload::a_tensor(ParameterId parameter) const {
  return pair_.planner.source().tensors()[pair_.planner.source_of(parameter)];
}

/// This process's cards of B that hold a parameter. Where copies may differ, the one that counts: the lowest card's.
std::vector<Position> CompareWorkload::cards_of(ParameterId parameter) const {
  std::vector<Position> cards;
  for (const Position card : pair_.cards)
    if (b_.holds(card, b_.array_of(parameter))) cards.push_back(card);
  if (b_.spreads()[parameter].replicas != Replicas::first) return cards;
  std::vector<Position> lowest;
  b_.for_each_first(parameter, [&](Position first) { lowest.push_back(b_.lowest_holder(parameter, first)); });
  std::erase_if(cards, [&](Position card) { return std::find(lowest.begin(), lowest.end(), card) == lowest.end(); });
  return cards;
}

/// What a card holds of a parameter, in chunks of which A's and B's elements both fit.
ChunkGrid CompareWorkload::grid(ParameterId parameter, Position card) const {
  const std::uint64_t elements = b_.run_of(parameter, card).size();
  const Extents stored = b_.stored_shape(b_.array_of(parameter), card);
  const std::uint64_t larger = std::max(a_tensor(parameter).dtype.size, b_.tensors()[parameter].dtype.size);
  return ChunkGrid(elements == volume(stored) ? stored : Extents{elements}, larger, chunk_bytes_);
}

std::optional<Chunk> CompareWorkload::next() {
  for (;;) {
    if (auto chunk = chunks_.next()) {
      chunk->bytes = chunk->elements.size() * a_tensor(pair_.parameters[parameter_ - 1]).dtype.size;
      return chunk;
    }
    if (parameter_ == pair_.parameters.size()) return std::nullopt;
    const ParameterId parameter = pair_.parameters[parameter_++];
    chunks_.start(b_.array_of(parameter));
    for (const Position card : cards_of(parameter))
      chunks_.add(card, grid(parameter, card), b_.run_of(parameter, card).lo);
  }
}

PartialSum CompareWorkload::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) {
  traffic_.bytes_read += pair_.reader.read(transfer, target, scratch).bytes_read;
  return {};
}

/// Padding is no part of a tensor: whoever saved it may have left anything there.
void CompareWorkload::write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& /*read*/) {
  const std::uint64_t b_bytes = chunk.elements.size() * b_.arrays()[chunk.array].dtype.size;
  thread_local Buffer buffer;
  if (buffer.size() < b_bytes) buffer = Buffer(b_bytes);
  const auto own = buffer.first(b_bytes);
  files_.read(chunk, own);
  traffic_.bytes_read += b_bytes;
  traffic_.bytes_written += b_bytes;
  const bool is_equal = bytes.size() == own.size() && std::memcmp(bytes.data(), own.data(), bytes.size()) == 0;
  std::optional<TensorComparison> elements;
  Mismatch found;
  ParameterId of = 0;
  b_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    const Tensor& a = a_tensor(parameter);
    const Tensor& b = b_.tensors()[parameter];
    if (region.fill || (is_equal && (a.dtype == b.dtype || are_same_numbers(a.dtype, b.dtype)))) return;
    Region here = region;
    here.offset -= chunk.elements.lo;
    of = parameter;  // a chunk holds elements of one
    if (!elements) elements.emplace(a, b, pair_.agreement);
    elements->compare(here, chunk.card, bytes.data(), own.data(), found);
  });
  if (found.count == 0) return;
  const std::lock_guard lock(mutex_);
  found_[of].add(found);
}

}  // namespace ckpt
